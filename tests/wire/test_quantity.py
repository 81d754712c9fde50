"""Kubernetes quantities: exact, rounded up to thousandths, capped, or a sentence."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.errors import InputError
from numaplace.wire.quantity import LARGEST, parse_quantity


@pytest.mark.parametrize(
    ("text", "milli"),
    [
        ("2", 2000),
        (2, 2000),
        (0.5, 500),
        ("2000m", 2000),
        ("2e0", 2000),
        ("1E3", 1_000_000),
        ("1e+3", 1_000_000),
        ("5e-1", 500),
        ("+1", 1000),
        (".5", 500),
        ("1.", 1000),
        ("1.5", 1500),
        ("1k", 1_000_000),
        ("1Ki", 1_024_000),
        ("1.5Gi", 1_610_612_736_000),
        ("1E", 10**21),
        ("1Ei", 2**60 * 1000),
        ("0", 0),
        ("0m", 0),
        ("1u", 1),  # finer parts are rounded up
        ("1500u", 2),
        ("1n", 1),
        ("0.0001", 1),
        ("0e999999999", 0),
        ("1e999999999", LARGEST * 1000),
        ("1e-999999999", 1),
        ("9223372036854775808", LARGEST * 1000),
        (1e30, LARGEST * 1000),
    ],
)
def test_an_amount_is_read_exactly(text: object, milli: int) -> None:
    assert parse_quantity(text, "cpu") == milli


@pytest.mark.parametrize(
    "text",
    ["", " ", "two", "1 Gi", "1gi", "1K", "1KiB", "-1", "1e", "1e1.5", "0x10", "1_000", "١", "--1", ".", "1m1",
     None, True, [], {}, float("nan"), float("inf"), -1, 10**60, "9" * 101, "1" * 10_000],
    ids=lambda text: repr(text)[:20],
)  # fmt: skip
def test_what_is_no_amount_is_named(text: object) -> None:
    with pytest.raises(InputError) as raised:
        parse_quantity(text, "container a: limits.cpu")
    assert str(raised.value).startswith("container a: limits.cpu: found ")
    assert len(str(raised.value)) < 200


DECIMALS = st.builds(
    lambda whole, part, exponent: (
        f"{whole}.{part}e{exponent}",
        Fraction(f"{whole}.{part}") * Fraction(10) ** exponent,
    ),
    st.integers(0, 10**12),
    st.text("0123456789", min_size=1, max_size=8),
    st.integers(-12, 6),
)


@given(DECIMALS)
def test_an_amount_is_the_exact_value_rounded_up(written: tuple[str, Fraction]) -> None:
    text, exact = written
    milli = parse_quantity(text, "x")
    assert milli == min(LARGEST * 1000, -(-exact * 1000 // 1))


@given(st.integers(0, 2**50), st.sampled_from(["Ki", "Mi", "Gi"]), st.sampled_from(["k", "M", "G"]))
def test_binary_units_exceed_decimal_ones(count: int, binary: str, decimal: str) -> None:
    by_1024 = parse_quantity(f"{count}{binary}", "x")
    assert by_1024 == min(LARGEST, count * 1024 ** "KMG".index(binary[0].upper()) * 1024) * 1000
    if "kMG".index(decimal) <= "KMG".index(binary[0]):
        assert by_1024 >= parse_quantity(f"{count}{decimal}", "x")

"""CpuSet: the kernel's two text forms, and set algebra that agrees with Python's own sets."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.cpuset import MAX_CPU_ID, CpuSet, union
from numaplace.model.errors import InputError

IDS = st.integers(0, 4096) | st.integers(MAX_CPU_ID - 3, MAX_CPU_ID)
SETS = st.frozensets(IDS, max_size=40)


@pytest.mark.parametrize(
    ("text", "cpus", "shortest"),
    [
        ("", [], ""),
        ("\n", [], ""),
        ("0", [0], "0"),
        ("0-3,8,10-11\n", [0, 1, 2, 3, 8, 10, 11], "0-3,8,10-11"),
        ("8,0-1", [0, 1, 8], "0-1,8"),
        (" 0 - 3", None, ""),
        ("0,1,2", [0, 1, 2], "0-2"),
        ("3-3", [3], "3"),
        ("1,1-2", [1, 2], "1-2"),
        ("65535", [65535], "65535"),
    ],
)
def test_a_list_is_read_and_written_in_its_shortest_form(text: str, cpus: list[int] | None, shortest: str) -> None:
    if cpus is None:
        with pytest.raises(InputError):
            CpuSet.parse(text)
    else:
        assert list(CpuSet.parse(text)) == cpus
        assert str(CpuSet.parse(text)) == shortest


@pytest.mark.parametrize("text", ["3-1", "-1", "a", "0-", "0-3:1/2", "65536", "0-99999", "1 2", "٣", "0x3", "1;2"])
def test_what_is_no_list_is_refused_with_the_part_that_is_wrong(text: str) -> None:
    with pytest.raises(InputError, match=r"CPU list: found '.+'; expected numbers and rising ranges"):
        CpuSet.parse(text)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", []),
        ("f", [0, 1, 2, 3]),
        ("00000003,0000000f", [0, 1, 2, 3, 32, 33]),
        ("3,0000000f", [0, 1, 2, 3, 32, 33]),
        ("8000,00000000", [47]),
        ("ffff,00000000,00000001", [0, *range(64, 80)]),
    ],
)
def test_a_mask_has_the_highest_word_first(text: str, cpus: list[int]) -> None:
    assert list(CpuSet.parse_mask(text)) == cpus


@pytest.mark.parametrize("text", ["", "0x3", "g", "1,", ",1", "123456789", "1-3", "1," * 3000 + "1"])
def test_what_is_no_mask_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="CPU mask"):
        CpuSet.parse_mask(text)


@given(SETS)
def test_text_round_trips(cpus: frozenset[int]) -> None:
    one = CpuSet.of(cpus)
    assert CpuSet.parse(str(one)) == one
    words = [one.bits >> shift & 0xFFFFFFFF for shift in range(0, max(one.bits.bit_length(), 1), 32)]
    assert CpuSet.parse_mask(",".join(f"{word:08x}" for word in reversed(words))) == one


@given(SETS, SETS)
def test_algebra_is_that_of_sets(left: frozenset[int], right: frozenset[int]) -> None:
    a, b = CpuSet.of(left), CpuSet.of(right)
    assert set(a | b) == left | right
    assert set(a & b) == left & right
    assert set(a - b) == left - right
    assert a.issubset(b) is left.issubset(right)
    assert a.isdisjoint(b) is left.isdisjoint(right)
    assert (len(a), bool(a), list(a)) == (len(left), bool(left), sorted(left))
    assert union([a, b]) == a | b
    assert (a == b, hash(a) == hash(b)) == (left == right, left == right)


@given(SETS, IDS)
def test_membership_is_that_of_sets(cpus: frozenset[int], cpu: int) -> None:
    assert (cpu in CpuSet.of(cpus)) is (cpu in cpus)
    assert -1 not in CpuSet.of(cpus)


@given(SETS)
def test_ranges_are_maximal_runs(cpus: frozenset[int]) -> None:
    ranges = list(CpuSet.of(cpus).ranges())
    assert [cpu for first, last in ranges for cpu in range(first, last + 1)] == sorted(cpus)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(ranges))


def test_the_first_of_none_is_an_error_of_the_caller() -> None:
    assert CpuSet.parse("7,9").first() == 7
    with pytest.raises(ValueError, match="no first CPU"):
        CpuSet().first()


@pytest.mark.parametrize("cpu", [-1, MAX_CPU_ID + 1])
def test_a_number_out_of_range_is_refused(cpu: int) -> None:
    with pytest.raises(InputError, match="CPU number"):
        CpuSet.of([cpu])

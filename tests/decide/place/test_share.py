"""One amount over several numas: in proportion, by largest remainder, under caps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.decide.place.share import split

AMOUNTS = st.integers(0, 1000)
PARTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 200)), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("amount", "weights", "caps", "parts"),
    [
        (8, [1, 1], None, (4, 4)),
        (5, [1, 1], None, (3, 2)),  # a tie goes to the lower position
        (8, [3, 1], None, (6, 2)),
        (4, [0, 0], None, (2, 2)),  # nobody weighs anything: evenly
        (4, [1, 0], None, (4, 0)),
        (8, [1, 1], [2, 9], (2, 6)),  # what a cap cuts off goes to the others
        (6, [1, 0], [4, 9], (4, 2)),  # to those without weight only when the others are full
        (9, [1, 1], [2, 3], (2, 3)),  # all caps bind
        (0, [1, 2], None, (0, 0)),
    ],
)
def test_an_amount_is_split(amount: int, weights: list[int], caps: list[int] | None, parts: tuple[int, ...]) -> None:
    assert split(amount, weights, caps) == parts


@given(AMOUNTS, PARTS)
def test_nothing_is_lost_unless_the_caps_are_too_small(amount: int, parts: list[tuple[int, int]]) -> None:
    weights, caps = [weight for weight, _ in parts], [cap for _, cap in parts]
    result = split(amount, weights, caps)
    assert sum(result) == min(amount, sum(caps))
    assert all(0 <= part <= cap for part, cap in zip(result, caps, strict=True))


@given(AMOUNTS, st.lists(st.integers(1, 50), min_size=1, max_size=8))
def test_no_part_is_a_whole_unit_from_its_proportion(amount: int, weights: list[int]) -> None:
    for part, weight in zip(split(amount, weights), weights, strict=True):
        assert abs(part * sum(weights) - amount * weight) < sum(weights)

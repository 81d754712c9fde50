"""Names and numbers in few letters."""

import pytest

from numaplace.model.ids import PciAddress
from numaplace.model.words import counted
from numaplace.tools.report.grid import grid, indented
from numaplace.tools.report.words import clock, share, short_names, short_pcis


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_7"], "mlx5_0-2 mlx5_7"),
        (["mlx5_10", "mlx5_9"], "mlx5_9-10"),
        (["rocep59s0", "bnxt"], "bnxt rocep59s0"),
        (["a01", "a02"], "a01 a02"),
        ([], ""),
    ],
)
def test_names_that_count_up_become_ranges(names: list[str], text: str) -> None:
    assert short_names(names) == text


def test_addresses_lose_only_what_says_nothing() -> None:
    addresses = map(PciAddress, ["0000:3b:00.0", "0001:3b:00.0", "0000:3b:00.1"])
    assert short_pcis(addresses) == "3b:00 0001:3b:00 3b:00.1"


@pytest.mark.parametrize(("count", "text"), [(1, "1 Pod"), (0, "0 Pods"), (1523, "1,523 Pods")])
def test_counts_agree_with_their_noun(count: int, text: str) -> None:
    assert counted(count, "Pod") == text


@pytest.mark.parametrize(("part", "whole", "text"), [(1, 3, "33.3 %"), (0, 5, "0.0 %"), (0, 0, "–")])
def test_a_share_of_nothing_is_a_dash(part: int, whole: int, text: str) -> None:
    assert share(part, whole) == text


def test_columns_are_as_wide_as_they_must_be() -> None:
    assert grid(("A", "LONG"), [("xx", "1"), ("y", "22")], right=frozenset({1})) == ["A   LONG", "xx     1", "y     22"]
    assert grid((), []) == []
    assert indented(["a", ""]) == ["  a", ""]


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00:00"), (36_005, "10:00:05"), (12_902_960, "3584:09:20")])
def test_times_are_hours_minutes_seconds(seconds: float, text: str) -> None:
    assert clock(seconds) == text

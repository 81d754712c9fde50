"""Distances: rows of any length, of possible domains, absent, and absurd."""

import pytest

from numaplace.decide.discover.sources import NODE
from numaplace.model.finding import FindingCode
from tests.decide.discover.kernel import codes, discover, two_sockets, without


def row(text: str, **others: str) -> tuple[dict[int, int], set[FindingCode]]:
    found = discover(two_sockets() | {f"{NODE}/node0/distance": text} | others)
    return {int(id): d for id, d in found.topology.numas[0].distances.items()}, codes(found)


def test_a_row_speaks_of_the_online_domains_in_order() -> None:
    assert row("10 21") == ({0: 10, 1: 21}, set())


def test_directions_may_differ_and_both_are_kept() -> None:
    assert row("10 31") == ({0: 10, 1: 31}, {FindingCode.DISTANCE_ODD})


def test_a_row_as_long_as_the_possible_domains_speaks_of_those() -> None:
    distances, found = row("10 99 21", **{f"{NODE}/possible": "0,7,1".replace("7,1", "1,7")})
    assert (distances, found) == ({0: 10, 1: 99}, {FindingCode.DISTANCE_ODD})


@pytest.mark.parametrize(
    ("text", "distances", "code"),
    [
        ("10 21 31 41", {}, FindingCode.DISTANCE_ODD),  # of which domains is not told
        ("10", {}, FindingCode.DISTANCE_ODD),
        ("", {}, FindingCode.FILE_BROKEN),
        ("10 x", {}, FindingCode.FILE_BROKEN),
        ("10 9999", {}, FindingCode.FILE_BROKEN),
        ("10 0", {0: 10}, FindingCode.DISTANCE_ODD),
        ("10 999", {0: 10}, FindingCode.DISTANCE_ODD),
        ("10 10", {0: 10, 1: 10}, FindingCode.DISTANCE_ODD),
        ("20 21", {0: 20, 1: 21}, FindingCode.DISTANCE_ODD),
    ],
)
def test_a_row_that_no_slit_can_hold_is_doubted(text: str, distances: dict[int, int], code: FindingCode) -> None:
    read, found = row(text)
    assert read == distances
    assert code in found


def test_unreachable_is_a_distance() -> None:
    files = two_sockets() | {f"{NODE}/node0/distance": "10 255", f"{NODE}/node1/distance": "255 10"}
    found = discover(files)
    assert found.topology.distance(found.topology.numas[0].id, found.topology.numas[1].id) == 255
    assert found.findings == ()


def test_without_rows_the_distances_are_unknown_and_said_to_be() -> None:
    found = discover(without(two_sockets(), "distance"))
    assert [dict(numa.distances) for numa in found.topology.numas] == [{}, {}]
    assert codes(found) == {FindingCode.DISTANCE_MISSING}

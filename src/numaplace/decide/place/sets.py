"""Which sets of units and of numas are tried, and how few can be enough.

Up to `EXACT_UNITS` units every set of a width is tried. Machines with more (a few
very large ones, none of them GPU servers) have too many sets: there the sets grown by
distance around each unit are tried, and the answer is good instead of the best.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import Layout

EXACT_UNITS = 16  # 12,870 sets of 8; a 4-socket server with 4 domains a socket is within


class UnitSet(NamedTuple):
    """Units under trial."""

    units: int  # mask
    numas: int  # mask
    members: tuple[int, ...]  # the numas
    distance: int  # Σ SLIT distance over pairs of units


def unit_sets(layout: Layout, width: int, useful: int) -> tuple[UnitSet, ...]:
    """The sets of `width` units to try; `useful` masks the units that could give anything, for large machines."""
    if len(layout.units) <= EXACT_UNITS or width in (1, len(layout.units)):
        return _all_sets(layout, width)
    return _grown_sets(layout, width, useful)


@lru_cache(maxsize=1 << 12)
def _all_sets(layout: Layout, width: int) -> tuple[UnitSet, ...]:
    return tuple(_unit_set(layout, members) for members in combinations(range(len(layout.units)), width))


@lru_cache(maxsize=1 << 12)
def _grown_sets(layout: Layout, width: int, useful: int) -> tuple[UnitSet, ...]:
    """Around each useful unit the nearest useful ones; ties to the lower position."""
    units = tuple(CpuSet(useful))
    grown = {tuple(sorted(_nearest(layout, seed, units)[:width])) for seed in units if len(units) >= width}
    return tuple(_unit_set(layout, members) for members in sorted(grown))


def _nearest(layout: Layout, seed: int, units: tuple[int, ...]) -> list[int]:
    return sorted(units, key=lambda u: (layout.unit_distance[seed][u], u))


def _unit_set(layout: Layout, members: tuple[int, ...]) -> UnitSet:
    numas = sum(layout.units[u] for u in members)
    distance = sum(layout.unit_distance[a][b] for a, b in combinations(members, 2))
    return UnitSet(sum(1 << u for u in members), numas, tuple(CpuSet(numas)), distance)


def least_pair_distance(layout: Layout) -> int:
    """The least distance between two units; there must be two."""
    return min(layout.unit_distance[a][b] for a, b in combinations(range(len(layout.units)), 2))


def numa_sets(tried: UnitSet) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The sets of numas inside these packages, as a mask and as positions; of very many numas only all."""
    counts = range(1, len(tried.members) + 1) if len(tried.members) <= EXACT_UNITS else (len(tried.members),)
    for count in counts:
        for inside in combinations(tried.members, count):
            yield sum(1 << i for i in inside), inside


def fewest(need: int, offers: list[int]) -> int:
    """How many of the largest offers it takes to meet `need`."""
    count, left = 0, need
    for offer in sorted(offers, reverse=True):
        if left <= 0:
            break
        left -= offer
        count += 1
    return count if left <= 0 else len(offers) + 1

"""Which CPUs: the rule inside one numa, whole cores and few caches first.

Called after the candidate and the devices are settled; nothing here changes where a
Pod goes. Sets are CpuSet bits; every choice is by lowest CPU where nothing else tells.
"""

from functools import lru_cache

from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import Layout, joined
from numaplace.model.request import CpuRule


@lru_cache(maxsize=1 << 14)  # of a fleet, many numas are alike
def take_cpus(layout: Layout, free: int, count: int, rule: CpuRule) -> int:
    """Choose `count` of the CPUs in `free`, those of one numa.

    Kinds of cores are not mixed if one kind suffices (the fastest that does). Whole
    cores come first (`spread`: one thread of each core first), in the fewest
    last-level-cache groups, of those in the one that is left fullest. `free` must hold
    at least `count` CPUs.
    """
    for kind in layout.core_kinds:
        there = free & kind
        if _capacity(layout, there, rule) >= count:
            free = there
            break
    if rule is CpuRule.SPREAD:
        return _spread(layout, free, count)
    whole = [core for core in layout.cores if core & free == core]
    return _take(layout, whole, free, count)


def _capacity(layout: Layout, free: int, rule: CpuRule) -> int:
    only_whole = rule is CpuRule.FULL_CORES_ONLY
    return sum(core.bit_count() for core in layout.cores if core & free == core) if only_whole else free.bit_count()


def _spread(layout: Layout, free: int, count: int) -> int:
    """One thread of each core first, then the second threads, each round by caches."""
    taken = 0
    while count > taken.bit_count():
        firsts = [rest & -rest for core in layout.cores if (rest := core & free & ~taken)]
        taken |= _take(layout, firsts, joined(firsts), min(len(firsts), count - taken.bit_count()))
    return taken


def _take(layout: Layout, cores: list[int], free: int, count: int) -> int:
    """`count` CPUs of `free`: as many in whole `cores` as fit, the rest one by one, broken cores first."""
    largest_first = sorted(cores, key=lambda core: -core.bit_count())
    opened = _open_groups(layout, cores, free, _filled(largest_first, count).bit_count(), count)
    taken = 0
    for group in opened:
        taken |= _filled([core for core in largest_first if core & group], count - taken.bit_count())
    rest, unbroken = joined(opened) & ~taken, joined(cores)
    singles = sorted(CpuSet(rest), key=lambda cpu: (unbroken >> cpu & 1, cpu))
    return taken | CpuSet.of(singles[: count - taken.bit_count()]).bits


def _filled(cores: list[int], count: int) -> int:
    """Cores in this order, each that still fits into `count` CPUs."""
    taken = 0
    for core in cores:
        if taken.bit_count() + core.bit_count() <= count:
            taken |= core
    return taken


def _open_groups(layout: Layout, cores: list[int], free: int, whole: int, count: int) -> list[int]:
    """The fewest caches with `whole` CPUs in whole cores and `count` in all; the last one the tightest that does."""
    closed = _cache_groups(layout, free)
    in_cores, opened = joined(cores), 0
    found: list[int] = []
    while closed and ((opened & in_cores).bit_count() < whole or opened.bit_count() < count):
        missing = max(0, whole - (opened & in_cores).bit_count()), count - opened.bit_count()
        group = min(closed, key=lambda group: _unfitness(group, in_cores, missing))
        closed.remove(group)
        found.append(group)
        opened |= group
    return found


def _unfitness(group: int, in_cores: int, missing: tuple[int, int]) -> tuple[bool, int, int, int]:
    """Order of caches to open: the tightest of those that suffice, else the roomiest; ties by lowest CPU."""
    whole, every = min(missing[0], (group & in_cores).bit_count()), group.bit_count()
    if whole >= missing[0] and every >= missing[1]:
        return (False, every, 0, group & -group)
    return (True, -whole, -every, group & -group)


def _cache_groups(layout: Layout, free: int) -> list[int]:
    """The free CPUs by last-level cache; those of no known cache together."""
    groups = [llc & free for llc in layout.llcs if llc & free]
    stray = free & ~joined(groups)
    return [*groups, stray] if stray else groups

"""Which CPUs: the rule inside one numa, whole cores and few caches first.

Called after the candidate and the devices are settled; nothing here changes where a
Pod goes. Sets are CpuSet bits; every choice is by lowest CPU where nothing else tells.
"""

from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import Layout
from numaplace.model.request import CpuRule


def take_cpus(layout: Layout, free: int, count: int, rule: CpuRule) -> int:
    """Choose `count` of the CPUs in `free`, those of one numa.

    Kinds of cores are not mixed if one kind suffices (the fastest that does). Whole
    cores come first (`spread`: one thread of each core first), in the fewest
    last-level-cache groups, of those in the one that is left fullest. `free` must hold
    at least `count` CPUs.
    """
    for kind in layout.core_kinds:
        if (free & kind).bit_count() >= count:
            free &= kind
            break
    cores = [core & free for core in layout.cores if core & free]
    if rule is CpuRule.SPREAD:
        return _spread(layout, cores, count)
    whole = [core & free for core in layout.cores if core & free == core]
    taken = _take_cores(layout, whole, count)
    return taken | _take_rest(layout, free & ~taken, taken, count - taken.bit_count())


def _take_cores(layout: Layout, cores: list[int], count: int) -> int:
    """Whole cores from `cores` with at most `count` CPUs together, few caches first."""
    taken = 0
    while left := count - taken.bit_count():
        fitting = [core for core in cores if not core & taken and core.bit_count() <= left]
        if not fitting:
            break
        group = _cache_group(layout, fitting, left)
        for core in fitting:
            if core & group and core.bit_count() <= count - taken.bit_count():
                taken |= core
    return taken


def _cache_group(layout: Layout, cores: list[int], count: int) -> int:
    """The CPU bits of the cache to take from next: the tightest that suffices, else the roomiest."""
    pool = 0
    for core in cores:
        pool |= core
    groups = [llc & pool for llc in layout.llcs if llc & pool] or [pool]
    if stray := pool & ~_union(groups):
        groups.append(stray)
    enough = [group for group in groups if group.bit_count() >= count]
    if enough:
        return min(enough, key=lambda group: (group.bit_count(), group & -group))
    return min(groups, key=lambda group: (-group.bit_count(), group & -group))


def _take_rest(layout: Layout, free: int, taken: int, count: int) -> int:
    """Single threads for what whole cores did not cover: already broken cores, near caches, low CPUs."""
    near = _union([llc for llc in layout.llcs if llc & taken]) or free
    whole = _union([core for core in layout.cores if core & free == core])
    order = sorted(CpuSet(free), key=lambda cpu: (bool(whole >> cpu & 1), not near >> cpu & 1, cpu))
    return CpuSet.of(order[:count]).bits


def _spread(layout: Layout, cores: list[int], count: int) -> int:
    """One thread of each core first, then the second threads, each round by caches."""
    taken = 0
    while count > taken.bit_count():
        firsts = [(core & ~taken) & -(core & ~taken) for core in cores if core & ~taken]
        taken |= _take_cores(layout, firsts, count - taken.bit_count())
    return taken


def _union(sets: list[int]) -> int:
    bits = 0
    for one in sets:
        bits |= one
    return bits

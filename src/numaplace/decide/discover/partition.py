"""Making disjoint groups out of what each CPU says of its neighbours.

Cores, packages, dies and caches are all told so, CPU by CPU, and firmware may
contradict itself. The lower CPU's word wins; who said otherwise is handed back.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from numaplace.model.cpuset import CpuSet


def groups_of(told: Mapping[int, CpuSet]) -> tuple[list[CpuSet], CpuSet]:
    """Split the CPUs that `told` speaks of into groups by lowest CPU that speaks.

    Each CPU is in one group, with those that it named and that are not taken; CPUs that
    say nothing themselves are where another puts them. Also the CPUs whose word differs
    from the group they ended up in.
    """
    taken, odd = 0, 0
    groups = []
    for cpu in sorted(told):
        if taken >> cpu & 1:
            continue
        group = CpuSet(told[cpu].bits & ~taken | 1 << cpu)
        taken |= group.bits
        groups.append(group)
        for member in group:
            if told.get(member, group) != group:
                odd |= 1 << member
    return groups, CpuSet(odd)


def groups_by(key: Mapping[int, Hashable]) -> list[CpuSet]:
    """The CPUs with equal keys, by lowest CPU."""
    bits: dict[Hashable, int] = {}
    for cpu in sorted(key):
        bits[key[cpu]] = bits.get(key[cpu], 0) | 1 << cpu
    return [CpuSet(one) for one in bits.values()]


def id_of(group: CpuSet, told: Mapping[int, int]) -> int | None:
    """The number that the lowest CPU of the group with a number has; None if none has."""
    return next((told[cpu] for cpu in group if cpu in told), None)


def names_of(groups: list[CpuSet], told: Mapping[int, int]) -> list[int]:
    """A number for each group: the one that its CPUs were told, or the lowest that is free.

    Numbers are unique; of two groups with one number the first keeps it.
    """
    names: list[int | None] = []
    for group in groups:
        wanted = id_of(group, told)
        names.append(None if wanted in names else wanted)
    used = {name for name in names if name is not None}
    free = (number for number in range(len(groups) * 2 + 1) if number not in used)
    return [next(free) if name is None else name for name in names]

"""Making disjoint groups out of what each CPU says of its neighbours.

Cores, packages, dies and caches are all told so, CPU by CPU, and firmware may
contradict itself. The lower CPU's word wins; who said otherwise is handed back.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from numaplace.model.cpuset import CpuSet


def groups_of(told: Mapping[int, CpuSet]) -> tuple[list[CpuSet], CpuSet]:
    """Split the CPUs that `told` names into groups by lowest CPU.

    Each CPU is in one group, with those that it named and that are themselves in `told`
    and not taken. Also the CPUs whose word differs from the group they ended up in.
    """
    every = CpuSet.of(told)
    taken, odd = 0, 0
    groups = []
    for cpu in sorted(told):
        if taken >> cpu & 1:
            continue
        group = CpuSet((told[cpu] & every).bits & ~taken | 1 << cpu)
        taken |= group.bits
        groups.append(group)
        for member in group:
            if told[member] & every != group:
                odd |= 1 << member
    return groups, CpuSet(odd)


def groups_by(key: Mapping[int, Hashable]) -> list[CpuSet]:
    """The CPUs with equal keys, by lowest CPU."""
    bits: dict[Hashable, int] = {}
    for cpu in sorted(key):
        bits[key[cpu]] = bits.get(key[cpu], 0) | 1 << cpu
    return [CpuSet(one) for one in bits.values()]


def names_of(groups: list[CpuSet], told: Mapping[int, int]) -> list[int]:
    """A number for each group: the one its lowest CPU was told, or the lowest that is free.

    Numbers are unique; of two groups with one number the first keeps it.
    """
    names: list[int | None] = []
    for group in groups:
        wanted = told.get(group.first())
        names.append(None if wanted in names else wanted)
    used = {name for name in names if name is not None}
    free = (number for number in range(len(groups) * 2 + 1) if number not in used)
    return [next(free) if name is None else name for name in names]

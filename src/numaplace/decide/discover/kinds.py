"""Kinds of cores: fast and slow ones in one CPU, where a source tells them apart.

Intel names them in its PMUs, Arm by part number or by capacity. docs/sources.md#kinds-of-cores.
"""

from __future__ import annotations

from numaplace.decide.discover.partition import groups_by
from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import CPU, HYBRID
from numaplace.model.cpuset import CpuSet
from numaplace.model.topology import CoreKind

SAME_KIND = 0.9  # equal cores of one chip may differ by some percent in capacity

_PART_MASK = 0xFF00FFF0  # MIDR_EL1: implementer and part number, without variant and revision


def assemble_kinds(reading: Reading, online: CpuSet) -> tuple[CoreKind, ...]:
    """The kinds of cores, fastest first; empty where all are alike or nothing is told."""
    for kinds in (_by_pmu(reading, online), *_by_cpu(reading, online)):
        if len(kinds) > 1:
            return tuple(kinds)
    return ()


def _by_pmu(reading: Reading, online: CpuSet) -> list[CoreKind]:
    kinds = []
    left = online
    for name in HYBRID:
        cpus = (reading.listed(f"sys/devices/{name}/cpus") or CpuSet()) & left
        left -= cpus
        if cpus:
            kinds.append(CoreKind(name, cpus))
    return kinds


def _by_cpu(reading: Reading, online: CpuSet) -> tuple[list[CoreKind], list[CoreKind]]:
    parts, capacities = {}, {}
    for cpu in online & reading.cpu_folders:
        midr = reading.hexadecimal(f"{CPU}/cpu{cpu}/regs/identification/midr_el1")
        if midr is not None:
            parts[cpu] = midr & _PART_MASK
        capacity = reading.number(f"{CPU}/cpu{cpu}/cpu_capacity")
        if capacity is not None:
            capacities[cpu] = capacity
    return _by_part(parts, capacities), _by_capacity(capacities)


def _by_part(parts: dict[int, int], capacities: dict[int, int]) -> list[CoreKind]:
    """One kind for each part number, by the capacity of its fastest core."""
    kinds = [CoreKind(f"arm-{parts[cpus.first()] >> 4 & 0xFFF:#05x}", cpus) for cpus in groups_by(parts)]
    return sorted(kinds, key=lambda kind: (-max(capacities.get(cpu, 0) for cpu in kind.cpus), kind.cpus.first()))


def _by_capacity(capacities: dict[int, int]) -> list[CoreKind]:
    """Kinds by falling capacity; a gap of more than a tenth begins a new one."""
    kind_of: dict[int, int] = {}
    last = None
    for value in sorted(set(capacities.values()), reverse=True):
        kind_of[value] = value if last is None or value < last * SAME_KIND else kind_of[last]
        last = value
    groups = groups_by({cpu: kind_of[value] for cpu, value in capacities.items()})
    kinds = [(kind_of[capacities[cpus.first()]], cpus) for cpus in groups]
    return [CoreKind(f"capacity-{value}", cpus) for value, cpus in sorted(kinds, key=lambda one: -one[0])]

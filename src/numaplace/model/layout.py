"""Layout: a machine as the placer counts it, with positions in place of names.

Built once a topology (and reserved CPUs, and align level) and shared by all equal
machines, whatever their devices are called: position order is name order, so ties
that are broken by position are broken by name. GPU and HCA sets are bitmasks over
`Topology.gpus` and `Topology.hcas`, CPU sets are CpuSet bits, numa sets are bitmasks
over the *placeable* numas.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NumaId
from numaplace.model.proximity import Level, level_between, pci_level
from numaplace.model.topology import Numa, NumaKind, Topology

UNKNOWN = -1  # home of a device whose numa nobody knows


class AlignLevel(StrEnum):
    """What a policy aligns to (node label numaplace.dev/align-level)."""

    NUMA = "numa"
    PACKAGE = "package"


@dataclass(frozen=True, eq=False)
class Layout:
    """The fixed part of a node; compared by identity, `layout_of` returns one object for equal machines."""

    align: AlignLevel
    numas: tuple[NumaId, ...]  # the placeable ones, rising
    units: tuple[int, ...]  # what a policy counts: each a mask of numas; with AlignLevel.NUMA one numa each
    cpus: tuple[int, ...]  # usable CPU bits of each numa; disjoint
    reserved: int  # CPU bits that only the shared pool may use
    cores: tuple[int, ...]  # CPU bits of each physical core, reserved threads included
    llcs: tuple[int, ...]  # CPU bits of each last-level cache
    core_kinds: tuple[int, ...]  # CPU bits of each kind of a hybrid CPU, fastest first; empty if all are alike
    threads: int  # SMT threads a core, the most there are
    distance: tuple[tuple[int, ...], ...]  # between numas
    unit_distance: tuple[tuple[int, ...], ...]  # between units: the least between their numas
    memory: tuple[int, ...]  # bytes a numa can give in small pages; 0 where not told
    pages: tuple[tuple[int, tuple[int, ...]], ...]  # (page bytes, pages of each numa), by rising size
    gpu_home: tuple[int, ...]  # position of each GPU's numa, or UNKNOWN
    hca_home: tuple[int, ...]
    whole_gpus: int  # GPUs that are not in MIG mode
    gpu_links: tuple[tuple[Level, ...], ...]  # between GPUs
    hca_links: tuple[tuple[Level, ...], ...]  # [GPU][HCA]
    groups: tuple[int, ...]  # GPUs under one nearest switch or in one NVLink component, two or more

    def members(self, numas: int) -> tuple[int, ...]:
        """The positions in a mask of numas, rising."""
        return tuple(CpuSet(numas))

    def ids(self, numas: int) -> tuple[NumaId, ...]:
        """The ids of a mask of numas, rising."""
        return tuple(self.numas[i] for i in CpuSet(numas))

    def mask(self, ids: tuple[NumaId, ...]) -> int:
        """The mask of the given ids; ids that are not placeable here are left out."""
        return sum(1 << i for i, id in enumerate(self.numas) if id in ids)

    def units_of(self, numas: int) -> int:
        """The mask of the units that hold any of these numas."""
        return sum(1 << u for u, unit in enumerate(self.units) if unit & numas)

    @property
    def usable_cpus(self) -> int:
        """How many CPUs the placeable numas have together."""
        return sum(bits.bit_count() for bits in self.cpus)

    @property
    def all_numas(self) -> int:
        """Every placeable numa."""
        return (1 << len(self.numas)) - 1


def layout_of(topology: Topology, reserved: CpuSet = CpuSet(), align: AlignLevel = AlignLevel.NUMA) -> Layout:
    """Count a machine; equal arguments, device names apart, give the same object.

    A CPU that the firmware lists in two numas counts to the lower id; a device whose
    numa has no usable CPU counts to the nearest placeable numa (SLIT, then lowest id).
    """
    return _counted(_Same(topology), reserved, align)


class _Same:
    """A topology that equals all that are counted alike: UUIDs, models and what is free are not looked at."""

    __slots__ = ("_parts", "topology")

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._parts = (
            topology.online,
            tuple((gpu.pci, gpu.numa, gpu.path, gpu.mig) for gpu in topology.gpus),
            tuple((hca.numa, hca.path) for hca in topology.hcas),
            tuple(map(_fixed, topology.numas)),
            topology.packages,
            topology.cores,
            topology.llcs,
            topology.core_kinds,
            topology.nvlinks,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and (self.topology is other.topology or self._parts == other._parts)

    def __hash__(self) -> int:
        return hash(self._parts[:4])


def _fixed(numa: Numa) -> tuple[object, ...]:
    """What `_counted` reads of a domain."""
    pools = tuple((pool.page_bytes, pool.total) for pool in numa.hugepages)
    return numa.id, numa.kind, numa.cpus, numa.memory_bytes, tuple(numa.distances.items()), pools


@lru_cache(maxsize=256)
def _counted(same: _Same, reserved: CpuSet, align: AlignLevel) -> Layout:
    topology = same.topology
    cpus = dict(_usable(topology, reserved))
    ids = tuple(cpus)
    packages = [topology.package_of_numa(id) for id in ids]
    distance = tuple(tuple(topology.distance(a, b) for b in ids) for a in ids)
    units = _units(packages, align)
    sizes = sorted({pool.page_bytes for numa in topology.numas for pool in numa.hugepages})
    return _one(
        align=align,
        numas=ids,
        units=units,
        cpus=tuple(cpus.values()),
        reserved=(reserved & topology.online).bits,
        cores=tuple(core.bits for core in topology.cores),
        llcs=tuple(llc.cpus.bits for llc in topology.llcs),
        core_kinds=tuple(kind.cpus.bits for kind in topology.core_kinds),
        threads=max((len(core) for core in topology.cores), default=1),
        distance=distance,
        unit_distance=_unit_distance(units, distance),
        memory=tuple(_small_page_bytes(topology, id) for id in ids),
        pages=tuple((size, tuple(_pages(topology, id, size) for id in ids)) for size in sizes),
        gpu_home=tuple(_home(topology, ids, gpu.numa) for gpu in topology.gpus),
        hca_home=tuple(_home(topology, ids, hca.numa) for hca in topology.hcas),
        whole_gpus=sum(1 << i for i, gpu in enumerate(topology.gpus) if not gpu.mig),
        gpu_links=tuple(tuple(level_between(topology, a, b) for b in topology.gpus) for a in topology.gpus),
        hca_links=tuple(tuple(level_between(topology, a, b) for b in topology.hcas) for a in topology.gpus),
        groups=_groups(topology),
    )


_one = lru_cache(maxsize=8192)(Layout)


def joined(masks: Iterable[int]) -> int:
    """Everything that is in any of these masks."""
    bits = 0
    for mask in masks:
        bits |= mask
    return bits


@lru_cache(maxsize=1 << 14)
def homed(homes: tuple[int, ...], numas: tuple[int, ...]) -> int:
    """The devices whose home is one of `numas`."""
    return sum(1 << i for i, home in enumerate(homes) if home in numas)


def _usable(topology: Topology, reserved: CpuSet) -> Iterator[tuple[NumaId, int]]:
    taken = reserved.bits
    for numa in topology.numas:
        bits = (numa.cpus & topology.online).bits & ~taken
        taken |= bits
        if bits and numa.kind in (NumaKind.CPU, NumaKind.CPU_WITHOUT_MEMORY):
            yield numa.id, bits


def _units(packages: Sequence[int | None], align: AlignLevel) -> tuple[int, ...]:
    if align is AlignLevel.NUMA:
        return tuple(1 << i for i in range(len(packages)))
    masks: dict[object, int] = {}
    for i, package in enumerate(packages):
        key = ("alone", i) if package is None else package
        masks[key] = masks.get(key, 0) | 1 << i
    return tuple(masks.values())


def _unit_distance(units: tuple[int, ...], distance: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    def least(a: int, b: int) -> int:
        return min(distance[i][j] for i in CpuSet(a) for j in CpuSet(b))

    return tuple(tuple(least(a, b) for b in units) for a in units)


def _small_page_bytes(topology: Topology, id: NumaId) -> int:
    numa = topology.numa(id)
    held = sum(pool.page_bytes * pool.total for pool in numa.hugepages)
    return max(0, (numa.memory_bytes or 0) - held)


def _pages(topology: Topology, id: NumaId, size: int) -> int:
    return sum(pool.total for pool in topology.numa(id).hugepages if pool.page_bytes == size)


def _home(topology: Topology, ids: tuple[NumaId, ...], numa: NumaId | None) -> int:
    if numa in ids:
        return ids.index(numa)
    if len(ids) == 1:
        return 0
    if numa is None or not ids or all(one.id != numa for one in topology.numas):
        return UNKNOWN
    return min(range(len(ids)), key=lambda i: (topology.distance(numa, ids[i]), ids[i]))


def _groups(topology: Topology) -> tuple[int, ...]:
    """Masks of GPUs that big Pods want whole: under one nearest PCIe switch, or joined by NVLink."""
    gpus = topology.gpus
    by_switch = _components([[_under_one_switch(a.path, b.path) for b in gpus] for a in gpus])
    linked = {frozenset((link.a, link.b)) for link in topology.nvlinks}
    by_nvlink = _components([[frozenset((a.pci, b.pci)) in linked for b in gpus] for a in gpus])
    return tuple(sorted({mask for mask in (*by_switch, *by_nvlink) if mask.bit_count() >= 2}))


def _under_one_switch(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return pci_level(a, b) is Level.PIX


def _components(near: list[list[bool]]) -> list[int]:
    """Connected components of a graph given as an adjacency matrix, as masks."""
    masks: list[int] = []
    left = set(range(len(near)))
    while left:
        reached, frontier = 0, [min(left)]
        while frontier:
            i = frontier.pop()
            if i in left:
                left.discard(i)
                reached |= 1 << i
                frontier.extend(j for j in left if near[i][j])
        masks.append(reached)
    return masks

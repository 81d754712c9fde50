"""A node as plain sets and sums, counted by the oracle from the topology and the book alone.

Nothing here looks at `model.layout` or at the placer: two independent readings of
the contract meet in the tests. Slow and literal on purpose.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from numaplace.model.cluster import Holder, NodeState
from numaplace.model.devices import Gpu, Hca
from numaplace.model.ids import NumaId, PciAddress
from numaplace.model.keys import ALIGN_LEVEL
from numaplace.model.proximity import Level, level_between, pci_level
from numaplace.model.request import Policy
from numaplace.model.topology import Numa, Topology

Unit = tuple[NumaId, ...]
"""What a policy counts: one numa, or the placeable numas of one package."""


@dataclass(frozen=True)
class World:
    """What one node has to give at one moment, or would have if it were empty and healthy."""

    topology: Topology
    units: tuple[Unit, ...]  # by rising id of the numa or package
    usable: Mapping[NumaId, frozenset[int]]  # of the placeable numas
    reserved: frozenset[int]
    exclusive: frozenset[int]  # CPUs that have an owner
    confined: Mapping[NumaId, int]  # milli-CPUs
    floating: int  # milli-CPUs
    allocatable: int | None  # milli-CPUs
    memory: Mapping[NumaId, int]  # free bytes
    pages: Mapping[tuple[NumaId, int], int]  # free pages by numa and page size
    homes: Mapping[str, NumaId | None]  # of each device, by PCI address (GPU) or name (HCA)
    gpus: tuple[Gpu, ...]  # that can be had
    hcas: tuple[Hca, ...]  # that can be had by one Pod alone
    near_hcas: tuple[Hca, ...]  # that count as near: all healthy ones
    single: frozenset[Unit]  # units marked `single`
    wide: frozenset[Unit]
    held: frozenset[str]  # devices that a holder owns by name
    cut_above: int = 8  # of more devices than this, only sets that can be told apart are tried
    unknown_is_anywhere: bool = False  # the relaxation "with the device of unknown numa"

    @property
    def numas(self) -> tuple[NumaId, ...]:
        return tuple(sorted(self.usable))

    @property
    def threads(self) -> int:
        """SMT threads a core, the most there are."""
        return max((len(core & self.topology.online) for core in self.topology.cores), default=1)

    def free_cpus(self, numa: NumaId) -> frozenset[int]:
        return self.usable[numa] - self.exclusive

    def can_give(self, numa: NumaId) -> int:
        """CPUs of this numa that may become exclusive: confined Pods keep enough of the rest."""
        return max(0, len(self.free_cpus(numa)) - whole_cpus(self.confined.get(numa, 0)))

    def whole_cores(self, numa: NumaId) -> list[frozenset[int]]:
        """Free cores of this numa, all their threads usable and free."""
        cores = (frozenset(core & self.topology.online) for core in self.topology.cores)
        return [core for core in cores if core and core <= self.free_cpus(numa)]

    def reaches(self, device: Gpu | Hca, numas: Iterable[NumaId]) -> bool:
        home = self.homes[name_of(device)]
        return self.unknown_is_anywhere if home is None else home in numas

    def level(self, a: Gpu | Hca, b: Gpu | Hca) -> Level:
        names = name_of(a), name_of(b)
        if names not in self._levels:
            self._levels[names] = level_between(self.topology, a, b)
        return self._levels[names]

    def nearest_names(self, gpu: Gpu) -> frozenset[str]:
        """The healthy HCAs at the best level of a GPU."""
        if gpu.pci not in self._nearest:
            best = min(self.level(gpu, hca) for hca in self.near_hcas)
            self._nearest[gpu.pci] = frozenset(h.name for h in self.near_hcas if self.level(gpu, h) == best)
        return self._nearest[gpu.pci]

    @cached_property
    def _nearest(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _levels(self) -> dict[tuple[str, str], Level]:
        return {}

    @cached_property
    def groups(self) -> list[frozenset[PciAddress]]:
        """GPUs under one nearest PCIe switch, and NVLink-connected ones; two or more, equal sets once."""
        gpus = [gpu.pci for gpu in self.topology.gpus]
        path = {gpu.pci: gpu.path for gpu in self.topology.gpus}
        switched = [{a, b} for a in gpus for b in gpus if a < b and pci_level(path[a], path[b]) is Level.PIX]
        linked = [{link.a, link.b} for link in self.topology.nvlinks]
        return list({*_components(gpus, switched), *_components(gpus, linked)})


def name_of(device: Gpu | Hca) -> str:
    return device.pci if isinstance(device, Gpu) else device.name


def whole_cpus(milli: int) -> int:
    """⌈milli⌉ in CPUs."""
    return -(-milli // 1000)


def world_of(node: NodeState) -> World:
    """The node as it is now."""
    assert node.topology is not None
    topology, holders = node.topology, list(node.holders.values())
    usable = _usable(topology, frozenset(node.reserved))
    homes = _homes(topology, usable)
    units = _units(topology, usable, by_package=node.rules.labels.get(ALIGN_LEVEL) == "package")
    single, wide = _marks(holders, units, homes)
    charged_milli, charged_memory, charged_pages = _charges(holders)
    return World(
        topology=topology,
        units=units,
        usable=usable,
        reserved=frozenset(node.reserved & topology.online),
        exclusive=frozenset(cpu for h in holders if h.allocation for cpu in h.allocation.cpus),
        confined=charged_milli,
        floating=_shared_milli(holders) - sum(charged_milli.values()),
        allocatable=(node.rules.allocatable.cpu_milli if node.rules.allocatable else None),
        memory={
            id: max(0, _least(_small_pages(topology.numa(id)) - charged_memory[id], topology.numa(id).free_bytes))
            for id in usable
        },
        pages={
            (id, pool.page_bytes): max(0, min(pool.total - charged_pages[id, pool.page_bytes], pool.free))
            for id in usable
            for pool in topology.numa(id).hugepages
        },
        homes=homes,
        gpus=_free_gpus(topology, holders),
        hcas=_free_hcas(topology, holders),
        near_hcas=tuple(hca for hca in topology.hcas if not hca.fault),
        single=single,
        wide=wide,
        held=_held(holders),
    )


def empty_and_healthy(world: World) -> World:
    """The same machine with no Pod on it, and every device of known numa healthy (Restricted's width)."""
    topology = world.topology

    def known(device: Gpu | Hca) -> bool:
        return world.unknown_is_anywhere or world.homes[name_of(device)] is not None

    numas = {id: topology.numa(id) for id in world.usable}
    return World(
        topology=topology,
        units=world.units,
        usable=world.usable,
        reserved=world.reserved,
        exclusive=frozenset(),
        confined={},
        floating=0,
        allocatable=world.allocatable,
        memory={id: max(0, _small_pages(numa)) for id, numa in numas.items()},
        pages={(id, pool.page_bytes): pool.total for id, numa in numas.items() for pool in numa.hugepages},
        homes=world.homes,
        gpus=tuple(gpu for gpu in topology.gpus if not gpu.mig and known(gpu)),
        hcas=tuple(hca for hca in topology.hcas if known(hca)),
        near_hcas=tuple(hca for hca in topology.hcas if known(hca) or not hca.fault),
        single=frozenset(),
        wide=frozenset(),
        held=frozenset(),
        unknown_is_anywhere=world.unknown_is_anywhere,
    )


def _least(ledger: int, report: int | None) -> int:
    return ledger if report is None else min(ledger, report)


def _small_pages(numa: Numa) -> int:
    """MemTotal without what the hugepage pools took; 0 where not told."""
    return (numa.memory_bytes or 0) - sum(pool.page_bytes * pool.total for pool in numa.hugepages)


def _usable(topology: Topology, reserved: frozenset[int]) -> dict[NumaId, frozenset[int]]:
    seen: set[int] = set()
    usable: dict[NumaId, frozenset[int]] = {}
    for numa in sorted(topology.numas, key=lambda numa: numa.id):
        cpus = frozenset(numa.cpus & topology.online) - reserved - seen
        seen |= cpus
        if cpus:
            usable[numa.id] = cpus
    return usable


def _homes(topology: Topology, usable: Mapping[NumaId, frozenset[int]]) -> dict[str, NumaId | None]:
    def home(numa: NumaId | None) -> NumaId | None:
        if len(usable) == 1:
            return min(usable)
        if numa is None or not usable:
            return None
        return min(usable, key=lambda id: (topology.distance(numa, id), id))

    devices: list[Gpu | Hca] = [*topology.gpus, *topology.hcas]
    return {name_of(device): home(device.numa) for device in devices}


def _units(topology: Topology, usable: Iterable[NumaId], *, by_package: bool) -> tuple[Unit, ...]:
    if not by_package:
        return tuple((id,) for id in sorted(usable))
    packages: dict[tuple[bool, int], list[NumaId]] = {}
    for id in sorted(usable):
        package = topology.package_of_numa(id)
        packages.setdefault((package is None, id if package is None else package), []).append(id)
    return tuple(tuple(numas) for _, numas in sorted(packages.items()))


def _marks(
    holders: list[Holder], units: tuple[Unit, ...], homes: Mapping[str, NumaId | None]
) -> tuple[frozenset[Unit], frozenset[Unit]]:
    single: set[Unit] = set()
    wide: set[Unit] = set()
    for holder in holders:
        allocation = holder.allocation
        if allocation is None:
            continue
        if holder.request.policy is not Policy.NONE or allocation.cpus:
            numas: set[NumaId | None] = set(allocation.numas)
        else:
            numas = {homes.get(gpu.pci) for gpu in allocation.gpus}
        lived_in = [unit for unit in units if numas & set(unit)]
        (single if len(lived_in) == 1 else wide).update(lived_in)
    return frozenset(single), frozenset(wide)


def _charges(holders: list[Holder]) -> tuple[Counter[NumaId], Counter[NumaId], Counter[tuple[NumaId, int]]]:
    milli: Counter[NumaId] = Counter()
    memory: Counter[NumaId] = Counter()
    pages: Counter[tuple[NumaId, int]] = Counter()
    for charge in (charge for h in holders if h.allocation for charge in h.allocation.charges):
        milli[charge.numa] += charge.shared_cpu_milli
        memory[charge.numa] += charge.memory_bytes
        for amount in charge.hugepages:
            pages[charge.numa, amount.page_bytes] += amount.pages
    return milli, memory, pages


def _shared_milli(holders: list[Holder]) -> int:
    """What all Pods share, wherever; one that should own CPUs but has no allocation shares as many."""
    unnamed = sum(1000 * holder.request.cpus for holder in holders if holder.allocation is None)
    return unnamed + sum(holder.request.shared_cpu_milli for holder in holders)


def _free_gpus(topology: Topology, holders: list[Holder]) -> tuple[Gpu, ...]:
    named = _held(holders)
    unnamed = sum(h.request.gpus for h in holders if h.allocation is None)
    free = [gpu for gpu in topology.gpus if gpu.pci not in named and not gpu.mig and not gpu.fault]
    return tuple(sorted(free, key=lambda gpu: gpu.pci)[unnamed:])


def _free_hcas(topology: Topology, holders: list[Holder]) -> tuple[Hca, ...]:
    owned = _held(holders)
    return tuple(hca for hca in topology.hcas if hca.name not in owned and not hca.fault)


def _held(holders: list[Holder]) -> frozenset[str]:
    """GPUs by address, and by name the HCAs that one Pod has alone."""
    gpus = {str(gpu.pci) for h in holders if h.allocation for gpu in h.allocation.gpus}
    hcas = {str(hca.name) for h in holders if h.allocation and h.request.hcas_exclusive for hca in h.allocation.hcas}
    return frozenset(gpus | hcas)


def _components(members: list[PciAddress], pairs: list[set[PciAddress]]) -> list[frozenset[PciAddress]]:
    found = [{member} for member in members]
    for pair in pairs:
        joined = [part for part in found if part & pair]
        found = [part for part in found if not part & pair] + [set().union(*joined)]
    return [frozenset(part) for part in found if len(part) > 1]

"""What a kubelet does with a Pod that is bound to it: its CPU, device and topology managers on paper.

Policy `single-numa-node`, scope `container`, CPU manager `static`; or no managers at
all. docs/explanation/kubelet-model.md lists the facts that are followed, tests hold
each of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from numaplace.decide.place import nearest_hca, room_of
from numaplace.model.allocation import Allocation, ContainerShare, GpuRef, HcaRef
from numaplace.model.cluster import NodeState
from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.ids import ContainerName, NumaId
from numaplace.model.layout import Layout
from numaplace.model.pod import Container, Pod
from numaplace.model.request import ContainerKind, CpuMode, PodRequest, Policy
from numaplace.model.rules import CPU, MEMORY
from numaplace.model.settings import Settings
from numaplace.model.topology import Topology

TOPOLOGY_AFFINITY_ERROR = "TopologyAffinityError"
UNEXPECTED_ADMISSION_ERROR = "UnexpectedAdmissionError"
MAX_NUMAS = 8  # with more the kubelet does not start under a topology policy, unless told to


@dataclass(frozen=True, slots=True)
class Failure:
    """The Pod is Failed for good, by this reason."""

    reason: str


@dataclass(slots=True)
class _Stock:
    """What the managers of one node still have; positions of devices as in the Topology."""

    topology: Topology
    cpus: int  # bits, reserved CPUs not among them
    gpus: set[int]
    hcas: set[int]
    shares: dict[ContainerName, ContainerShare] = field(default_factory=dict)


def start_with_managers(node: NodeState, pod: Pod, request: PodRequest, settings: Settings) -> Allocation | Failure:
    """Admit a Pod under `single-numa-node`, container by container in order, or fail it."""
    stock = _stock(node)
    for container in pod.containers:
        failure = _admit(stock, container, exclusive=owns_cpus(pod, container), settings=settings)
        if failure is not None:
            return failure
    return _allocation(node, stock, request, settings)


def start_without_managers(node: NodeState, pod: Pod, request: PodRequest, settings: Settings) -> Allocation | Failure:
    """Start a Pod as a kubelet without policies does: cards in the plugin's order, CPUs anywhere."""
    stock = _stock(node)
    for container in pod.containers:
        gpus = _first(stock.gpus, cards_of(container, settings))
        hcas = _first(stock.hcas, _hcas_of(container, settings))
        if gpus is None or hcas is None:
            return Failure(UNEXPECTED_ADMISSION_ERROR)
        _give(stock, container, 0, gpus, hcas)
    return _allocation(node, stock, request, settings)


def owns_cpus(pod: Pod, container: Container) -> bool:
    """Whether the static CPU manager gives a container CPUs of its own: a Guaranteed Pod and a whole number."""
    return is_guaranteed(pod) and container.request_milli(CPU) % 1000 == 0


def is_guaranteed(pod: Pod) -> bool:
    """Whether every container limits CPU and memory and requests as much."""
    return all(
        container.limits_milli.get(name, 0) > 0 and container.request_milli(name) == container.limits_milli[name]
        for container in pod.containers
        for name in (CPU, MEMORY)
    )


def cards_of(container: Container, settings: Settings) -> int:
    """Whole cards that a container asks, under any plugin's name."""
    names = (settings.gpu_resource, *settings.foreign_gpu_resources)
    return sum(container.request_milli(name) // 1000 for name in names)


def _hcas_of(container: Container, settings: Settings) -> int:
    return container.request_milli(settings.hca_resource) // 1000 if settings.hcas_exclusive else 0


def _stock(node: NodeState) -> _Stock:
    if node.topology is None:
        raise BrokenPromiseError(f"a kubelet was asked on node {node.name}, whose machine is not known")
    room = room_of(node)
    bits = 0
    for one in room.cpus:
        bits |= one
    return _Stock(node.topology, bits, set(CpuSet(room.gpus)), set(CpuSet(room.hcas)))


def _admit(stock: _Stock, container: Container, *, exclusive: bool, settings: Settings) -> Failure | None:
    """Hints, merge, allocation of one container."""
    cpus = container.request_milli(CPU) // 1000 if exclusive else 0
    gpus, hcas = cards_of(container, settings), _hcas_of(container, settings)
    opinions = [
        _cpu_hints(stock, cpus),
        _device_hints([gpu.numa for gpu in stock.topology.gpus], stock.gpus, gpus),
        _device_hints([hca.numa for hca in stock.topology.hcas], stock.hcas, hcas),
    ]
    told = [hints for hints in opinions if hints is not None]
    affinity: NumaId | None = None
    if told:
        common = frozenset.intersection(*told)
        if not common:
            return Failure(TOPOLOGY_AFFINITY_ERROR)
        affinity = min(common)
    chosen_gpus = _take_devices([gpu.numa for gpu in stock.topology.gpus], stock.gpus, gpus, affinity)
    chosen_hcas = _take_devices([hca.numa for hca in stock.topology.hcas], stock.hcas, hcas, affinity)
    if chosen_gpus is None or chosen_hcas is None:
        return Failure(UNEXPECTED_ADMISSION_ERROR)
    free = stock.cpus if affinity is None else stock.cpus & stock.topology.numa(affinity).cpus.bits
    _give(stock, container, take_packed(stock.topology, free, cpus), chosen_gpus, chosen_hcas)
    return None


def _cpu_hints(stock: _Stock, count: int) -> frozenset[NumaId] | None:
    """Single domains with enough free CPUs; only preferred if a domain of the machine is wide enough at all."""
    if not count:
        return None
    domains = [numa for numa in stock.topology.numas if numa.cpus]
    return frozenset(numa.id for numa in domains if (numa.cpus.bits & stock.cpus).bit_count() >= count)


def _device_hints(homes: list[NumaId | None], free: Iterable[int], count: int) -> frozenset[NumaId] | None:
    """Single domains with enough free devices; no opinion where none is asked or no device tells its domain."""
    if not count or all(home is None for home in homes):
        return None
    there = [homes[i] for i in free]
    return frozenset(home for home in there if home is not None and there.count(home) >= count)


def _take_devices(
    homes: list[NumaId | None], free: set[int], count: int, affinity: NumaId | None
) -> tuple[int, ...] | None:
    """Aligned devices first, each group in the plugin's order; None if there are not enough."""
    ordered = sorted(free, key=lambda i: (affinity is not None and homes[i] != affinity, i))
    return tuple(ordered[:count]) if len(ordered) >= count else None


def _first(free: set[int], count: int) -> tuple[int, ...] | None:
    return tuple(sorted(free)[:count]) if len(free) >= count else None


def take_packed(topology: Topology, free: int, count: int) -> int:
    """CPUs as the static policy takes them inside one domain: whole cores by rising id, then single threads.

    Single threads come from the cores with the fewest free threads. Fewer than `count`
    bits if `free` holds fewer.
    """
    taken = 0
    for core in topology.cores:
        if core.bits & free == core.bits and taken.bit_count() + len(core) <= count:
            taken |= core.bits
    rest = sorted(topology.cores, key=lambda core: ((core.bits & free & ~taken).bit_count(), core.first()))
    for cpu in (cpu for core in rest for cpu in CpuSet(core.bits & free & ~taken)):
        if taken.bit_count() >= count:
            break
        taken |= 1 << cpu
    return taken


def _give(stock: _Stock, container: Container, cpus: int, gpus: tuple[int, ...], hcas: tuple[int, ...]) -> None:
    """Book a container's share; what a plain init container had is free for those after it."""
    topology = stock.topology
    stock.shares[container.name] = ContainerShare(
        cpus=CpuSet(cpus),
        gpus=tuple(GpuRef(topology.gpus[i].pci, topology.gpus[i].uuid) for i in gpus),
        hcas=tuple(HcaRef(topology.hcas[i].name, topology.hcas[i].pci) for i in hcas),
    )
    if container.kind is not ContainerKind.INIT:
        stock.cpus &= ~cpus
        stock.gpus -= set(gpus)
        stock.hcas -= set(hcas)


def _allocation(node: NodeState, stock: _Stock, request: PodRequest, settings: Settings) -> Allocation:
    """What the containers got, with the NUMA domains that they touch."""
    layout = node.layout
    if layout is None:
        raise BrokenPromiseError(f"node {node.name} has a machine but no layout")
    bits = 0
    pcis, names = set(), set()
    for share in stock.shares.values():
        bits |= share.cpus.bits
        pcis |= {gpu.pci for gpu in share.gpus}
        names |= {hca.name for hca in share.hcas}
    gpus = [i for i, gpu in enumerate(stock.topology.gpus) if gpu.pci in pcis]
    hcas = sum(1 << i for i, hca in enumerate(stock.topology.hcas) if hca.name in names)
    touched = _touched(layout, request, bits, gpus)
    levels = [level for g in gpus if (level := nearest_hca(layout, g, hcas)) is not None] if hcas else []
    return Allocation(
        node=node.name,
        numas=layout.ids(touched),
        policy=Policy.NONE,
        width=layout.units_of(touched).bit_count(),
        containers=stock.shares,
        gpu_hca=max(levels, default=None) if settings.hcas_exclusive else None,
    )


def _touched(layout: Layout, request: PodRequest, cpus: int, gpus: list[int]) -> int:
    """The mask of numas that the Pod uses; CPUs that it wanted near but that float may be anywhere."""
    if not cpus and request.rules.amounts.cpu_milli and request.cpu_mode is not CpuMode.FLOATING:
        return layout.all_numas
    mask = sum(1 << i for i, numa_bits in enumerate(layout.cpus) if numa_bits & cpus)
    for home in {layout.gpu_home[g] for g in gpus}:
        mask |= 1 << home if home >= 0 else layout.all_numas
    return mask

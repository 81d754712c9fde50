"""From a choice to an Allocation: every container's CPUs, GPUs and HCAs by name.

The last step of a placement; it only spreads what `choose` has already found to be
there, so it cannot fail.
"""

from types import MappingProxyType

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.cpus import take_cpus
from numaplace.decide.place.devices import nearest_hca
from numaplace.decide.place.room import Room
from numaplace.decide.place.share import split
from numaplace.decide.place.trial import Choice, confined_shares
from numaplace.model.allocation import Allocation, ContainerShare, GpuRef, HcaRef, NumaCharge
from numaplace.model.cluster import NodeState
from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.ids import ContainerName
from numaplace.model.layout import Layout, joined
from numaplace.model.proximity import Level
from numaplace.model.request import ContainerKind, ContainerRequest, CpuRule, Hugepages, PodRequest
from numaplace.model.topology import Topology


def allocation_of(node: NodeState, room: Room, request: PodRequest, ask: Ask, choice: Choice) -> Allocation:
    """Write `choice` out for the containers of `request`."""
    if node.topology is None:
        raise BrokenPromiseError(f"node {node.name} was chosen before its topology was known")
    members = tuple(CpuSet(choice.numas))
    hcas = choice.devices.hcas or _shared_hcas(room, ask, choice)
    return Allocation(
        node=node.name,
        numas=room.layout.ids(choice.numas),
        policy=request.policy,
        width=choice.width,
        containers=MappingProxyType(_containers(node.topology, room, request, ask, choice, hcas)),
        charges=_charges(room, ask, members, floats=choice.fallback),
        gpu_hca=_reached(room.layout, choice.devices.gpus, hcas),
        binds_memory=ask.binds_memory,
    )


def _reached(layout: Layout, gpus: tuple[int, ...], hcas: tuple[int, ...]) -> Level | None:
    """The level of the GPU that is farthest from its nearest HCA."""
    mask = sum(1 << h for h in hcas)
    levels = [near for g in gpus if (near := nearest_hca(layout, g, mask)) is not None]
    return max(levels, default=None)


def _shared_hcas(room: Room, ask: Ask, choice: Choice) -> tuple[int, ...]:
    """All HCAs at each GPU's best level; without GPUs those of the numas, or the nearest to them."""
    if not ask.shared_hcas:
        return ()
    layout, healthy = room.layout, CpuSet(room.healthy_hcas)
    if ask.gpus:
        return _nearest(layout, choice.devices.gpus, tuple(healthy))
    members = tuple(CpuSet(choice.numas))

    def distance(hca: int) -> int:
        home = layout.hca_home[hca]
        return min(layout.distance[i][home] for i in members) if home >= 0 else 1 << 16

    nearest = min(distance(h) for h in healthy)
    return tuple(h for h in healthy if distance(h) == nearest)


def _charges(room: Room, ask: Ask, members: tuple[int, ...], *, floats: bool) -> tuple[NumaCharge, ...]:
    """What the numas are charged; in BestEffort's fallback a confined Pod charges its CPUs to the node."""
    layout = room.layout
    milli = (0,) * len(members) if floats else confined_shares(layout, ask.confined_milli, members)
    free = [room.memory[i] for i in members]
    memory = split(ask.memory_bytes, free, free)
    pages = {h.page_bytes: _page_split(room, h, members) for h in ask.hugepages}
    charges = []
    for place, i in enumerate(members):
        hugepages = tuple(Hugepages(size, parts[place]) for size, parts in pages.items() if parts[place])
        if milli[place] or memory[place] or hugepages:
            charges.append(NumaCharge(layout.numas[i], milli[place], memory[place], hugepages))
    return tuple(charges)


def _page_split(room: Room, wanted: Hugepages, members: tuple[int, ...]) -> tuple[int, ...]:
    for (size, _), free in zip(room.layout.pages, room.pages, strict=True):
        if size == wanted.page_bytes:
            there = [free[i] for i in members]
            return split(wanted.pages, there, there)
    return (0,) * len(members)


def _containers(
    topology: Topology, room: Room, request: PodRequest, ask: Ask, choice: Choice, hcas: tuple[int, ...]
) -> dict[ContainerName, ContainerShare]:
    staying = [c for c in request.containers if c.kind is not ContainerKind.INIT]
    cpus = _container_cpus(room, ask, choice, staying)
    gpus = _assign_gpus(room.layout, choice, staying, cpus)
    hca_sets = _assign_hcas(room.layout, ask, staying, gpus, hcas)
    sets = {c.name: (cpus[c.name], gpus[c.name], hca_sets[c.name]) for c in staying}
    for container in request.containers:
        if container.kind is ContainerKind.INIT:
            sets[container.name] = _init_share(request, container, sets, choice, ask, hcas)
    return {c.name: _named(topology, *sets[c.name]) for c in request.containers}


_Sets = tuple[int, tuple[int, ...], tuple[int, ...]]  # CPU bits, GPU positions, HCA positions


def _named(topology: Topology, cpus: int, gpus: tuple[int, ...], hcas: tuple[int, ...]) -> ContainerShare:
    return ContainerShare(
        CpuSet(cpus),
        tuple(GpuRef(topology.gpus[g].pci, topology.gpus[g].uuid) for g in sorted(gpus)),
        tuple(HcaRef(topology.hcas[h].name, topology.hcas[h].pci) for h in sorted(hcas)),
    )


def _container_cpus(
    room: Room, ask: Ask, choice: Choice, containers: list[ContainerRequest]
) -> dict[ContainerName, int]:
    """Each container's own CPUs, numa after numa, so that a small container lies in one."""
    members = tuple(CpuSet(choice.numas))
    quota = dict(zip(members, _quotas(room, ask, choice, members), strict=True))
    free = {i: room.cpus[i] for i in members}
    result = {}
    for container in containers:
        bits, left = 0, container.cpus if ask.cpus else 0
        for i in members:
            count = min(left, quota[i])
            taken = take_cpus(room.layout, free[i], count, ask.cpu_rule) if count else 0
            free[i] &= ~taken
            quota[i] -= count
            left -= count
            bits |= taken
        result[container.name] = bits
    return result


def _quotas(room: Room, ask: Ask, choice: Choice, members: tuple[int, ...]) -> tuple[int, ...]:
    """How many of the Pod's CPUs each numa gives: in proportion to the GPUs taken there, in whole cores first."""
    layout = room.layout
    homes = [layout.gpu_home[g] for g in choice.devices.gpus]
    weights = [homes.count(i) for i in members]
    gives = [room.gives[i] for i in members]
    if ask.cpu_rule is CpuRule.SPREAD:
        return split(ask.cpus, weights, gives)
    threads = layout.threads
    whole = [min(room.whole_core_cpus(i), give) // threads for i, give in zip(members, gives, strict=True)]
    cores = split(ask.cpus // threads, weights, whole)
    given = [threads * n for n in cores]
    rest = split(ask.cpus - sum(given), weights, [give - n for give, n in zip(gives, given, strict=True)])
    return tuple(a + b for a, b in zip(given, rest, strict=True))


def _assign_gpus(
    layout: Layout, choice: Choice, containers: list[ContainerRequest], cpus: dict[ContainerName, int]
) -> dict[ContainerName, tuple[int, ...]]:
    """GPUs to the containers that asked, nearest pair first; ties by container order, then address."""
    pairs = sorted(
        (_cpu_distance(layout, cpus[container.name], g), order, g)
        for order, container in enumerate(containers)
        if container.gpus
        for g in choice.devices.gpus
    )
    given: dict[ContainerName, tuple[int, ...]] = {container.name: () for container in containers}
    left = set(choice.devices.gpus)
    for _, order, g in pairs:
        container = containers[order]
        if g in left and len(given[container.name]) < container.gpus:
            given[container.name] += (g,)
            left.discard(g)
    return given


def _cpu_distance(layout: Layout, cpus: int, gpu: int) -> int:
    """Distance from a GPU to the nearest numa of these CPUs; 0 where either is not known."""
    home = layout.gpu_home[gpu]
    if home < 0:
        return 0
    return min((layout.distance[i][home] for i, bits in enumerate(layout.cpus) if bits & cpus), default=0)


def _assign_hcas(
    layout: Layout,
    ask: Ask,
    containers: list[ContainerRequest],
    gpus: dict[ContainerName, tuple[int, ...]],
    hcas: tuple[int, ...],
) -> dict[ContainerName, tuple[int, ...]]:
    """HCAs to the containers that asked: shared ones all that are near, exclusive ones the nearest to their GPUs."""
    left = list(hcas)
    given: dict[ContainerName, tuple[int, ...]] = {}
    for container in containers:
        mine = gpus[container.name]
        if not container.hcas:
            given[container.name] = ()
        elif not ask.hcas:
            given[container.name] = _nearest(layout, mine, hcas)
        else:
            left.sort(key=lambda h: (min((layout.hca_links[g][h] for g in mine), default=Level.SYS), h))
            given[container.name] = tuple(left[: container.hcas])
            left = left[container.hcas :]
    return given


def _nearest(layout: Layout, gpus: tuple[int, ...], hcas: tuple[int, ...]) -> tuple[int, ...]:
    """The HCAs at the best level of any of `gpus`; all of them without GPUs."""
    mask = sum(1 << h for h in hcas)
    return tuple(
        h for h in hcas if not gpus or any(layout.hca_links[g][h] == nearest_hca(layout, g, mask) for g in gpus)
    )


def _init_share(
    request: PodRequest,
    container: ContainerRequest,
    sets: dict[ContainerName, _Sets],
    choice: Choice,
    ask: Ask,
    hcas: tuple[int, ...],
) -> _Sets:
    """A plain init container: the app containers' CPUs and the Pod's first devices that no earlier sidecar holds."""
    names = [c.name for c in request.containers]
    earlier = [c.name for c in request.containers[: names.index(container.name)] if c.kind is ContainerKind.SIDECAR]
    cpus = joined(sets[c.name][0] for c in request.containers if c.kind is ContainerKind.APP)
    gpus = [g for g in choice.devices.gpus if all(g not in sets[name][1] for name in earlier)]
    free_hcas = [h for h in hcas if not ask.hcas or all(h not in sets[name][2] for name in earlier)]
    count = container.hcas if ask.hcas else len(free_hcas) if container.hcas else 0
    return cpus, tuple(gpus[: container.gpus]), tuple(free_hcas[:count])

"""What must hold inside a placement, besides being the best under the key: who gets which CPUs, GPUs and HCAs.

Each function returns complaints in words; an empty list is right.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from numaplace.model.allocation import Allocation, ContainerShare
from numaplace.model.cluster import NodeState
from numaplace.model.ids import ContainerName, NumaId
from numaplace.model.request import ContainerKind, ContainerRequest, CpuMode, MemoryMode, PodRequest
from tests.oracle.search import Choice, confined_shares, memory_in, pages_in, shared_hcas, split
from tests.oracle.world import World, world_of


def choice_in(world: World, request: PodRequest, allocation: Allocation) -> Choice:
    """The choice that an allocation stands for; shared HCAs are those of the whole Pod, whoever asked."""
    fallback = allocation.width > len(world.units)
    units = tuple(unit for unit in world.units if set(unit) & set(allocation.numas))
    pcis = {gpu.pci for gpu in allocation.gpus}
    names = {hca.name for hca in allocation.hcas}
    gpus = tuple(gpu for gpu in world.topology.gpus if gpu.pci in pcis)
    hcas = tuple(hca for hca in world.topology.hcas if hca.name in names)
    choice = Choice(world.units if fallback else units, allocation.numas, gpus, hcas, fallback)
    shared = request.hcas and not request.hcas_exclusive
    return replace(choice, hcas=shared_hcas(world, choice)) if shared else choice


def complaints(node: NodeState, request: PodRequest, allocation: Allocation) -> list[str]:
    """Everything that is wrong with the inside of an allocation."""
    world = world_of(node)
    return [
        *_labels(node, request, allocation),
        *_ownership(world, request, allocation),
        *_containers(world, request, allocation),
        *_levels(world, request, allocation),
        *_charges(world, request, allocation),
    ]


def _labels(node: NodeState, request: PodRequest, allocation: Allocation) -> Iterator[str]:
    if allocation.node != node.name:
        yield f"node is {allocation.node}"
    if allocation.policy is not request.policy:
        yield f"policy is {allocation.policy}"
    if list(allocation.numas) != sorted(set(allocation.numas)):
        yield f"numas {allocation.numas} do not rise"
    if allocation.binds_memory != (request.memory_mode is MemoryMode.BIND):
        yield f"binds_memory is {allocation.binds_memory}"
    strangers = set(allocation.containers) - {container.name for container in request.containers}
    if strangers:
        yield f"shares for {strangers}, which the Pod does not have"


def _ownership(world: World, request: PodRequest, allocation: Allocation) -> Iterator[str]:
    choice = choice_in(world, request, allocation)
    if len(allocation.cpus) != request.cpus:
        yield f"{len(allocation.cpus)} CPUs for {request.cpus}"
    inside = frozenset().union(*(world.usable[numa] for numa in allocation.numas))
    for cpus, why in (
        (frozenset(allocation.cpus) - inside, "not usable in its numas"),
        (frozenset(allocation.cpus) & world.exclusive, "somebody else's"),
    ):
        if cpus:
            yield f"CPUs {sorted(cpus)} are {why}"
    for numa, count in cpus_by_numa(world, allocation).items():
        if count > world.can_give(numa):
            yield f"{count} CPUs of numa {numa}, which can give {world.can_give(numa)}"
    if len(choice.gpus) != request.gpus or len(allocation.gpus) != request.gpus:
        yield f"{len(choice.gpus)} GPUs for {request.gpus}"
    uuids = {gpu.pci: gpu.uuid for gpu in world.topology.gpus}
    addresses = {hca.name: hca.pci for hca in world.topology.hcas}
    yield from (f"GPU {gpu} is none" for gpu in allocation.gpus if uuids.get(gpu.pci, "?") != gpu.uuid)
    yield from (f"HCA {hca} is none" for hca in allocation.hcas if addresses.get(hca.name, "?") != hca.pci)
    if request.hcas_exclusive and len(choice.hcas) != request.hcas:
        yield f"{len(choice.hcas)} HCAs for {request.hcas}"


def _containers(world: World, request: PodRequest, allocation: Allocation) -> Iterator[str]:
    shares = {c.name: allocation.containers.get(c.name, ContainerShare()) for c in request.containers}
    choice = choice_in(world, request, allocation)
    for container in request.containers:
        yield from _one_container(world, request, container, shares[container.name], choice)
    staying = [c.name for c in request.containers if c.kind is not ContainerKind.INIT]
    for one, other in combinations(staying, 2):
        a, b = shares[one], shares[other]
        if not a.cpus.isdisjoint(b.cpus) or set(a.gpus) & set(b.gpus):
            yield f"{one} and {other} share CPUs or GPUs"
        if request.hcas_exclusive and set(a.hcas) & set(b.hcas):
            yield f"{one} and {other} share HCAs"
    yield from _init_containers(request, allocation, shares)


def _one_container(
    world: World, request: PodRequest, container: ContainerRequest, share: ContainerShare, choice: Choice
) -> Iterator[str]:
    """Whether a container has as much as it asked."""
    is_init = container.kind is ContainerKind.INIT
    if not is_init and len(share.cpus) != container.cpus:
        yield f"{container.name} has {len(share.cpus)} CPUs for {container.cpus}"
    if len(share.gpus) != container.gpus or list(share.gpus) != sorted(set(share.gpus)):
        yield f"{container.name} has GPUs {share.gpus} for {container.gpus}"
    if not container.hcas and share.hcas:
        yield f"{container.name} asked for no HCA and has {share.hcas}"
    if container.hcas and request.hcas_exclusive and len(share.hcas) != container.hcas:
        yield f"{container.name} has HCAs {share.hcas} for {container.hcas}"
    near = _near_ones(world, share, choice)
    if container.hcas and not request.hcas_exclusive and not is_init and {hca.name for hca in share.hcas} != near:
        yield f"{container.name} shares {share.hcas}, near are {near}"


def _near_ones(world: World, share: ContainerShare, choice: Choice) -> set[str]:
    """In shared mode: the Pod's HCAs at the best level of each GPU of a container; all without GPUs."""
    own = {gpu.pci for gpu in share.gpus}
    levels = [{h.name: world.level(gpu, h) for h in choice.hcas} for gpu in choice.gpus if gpu.pci in own]
    if not levels:
        return {hca.name for hca in choice.hcas}
    return {name for level in levels for name in level if level[name] == min(level.values())}


def _init_containers(
    request: PodRequest, allocation: Allocation, shares: Mapping[ContainerName, ContainerShare]
) -> Iterator[str]:
    """A plain init container borrows CPUs of the app containers and the first devices that no sidecar before it has."""
    app_cpus = {cpu for c in request.containers if c.kind is ContainerKind.APP for cpu in shares[c.name].cpus}
    taken: set[object] = set()
    for container in request.containers:
        share = shares[container.name]
        if container.kind is ContainerKind.SIDECAR:
            taken |= {*share.gpus, *(share.hcas if request.hcas_exclusive else ())}
        if container.kind is not ContainerKind.INIT:
            continue
        if set(share.cpus) != app_cpus:
            yield f"{container.name} has CPUs {share.cpus}, the app containers {sorted(app_cpus)}"
        first = tuple(gpu for gpu in allocation.gpus if gpu not in taken)[: container.gpus]
        if share.gpus != first:
            yield f"{container.name} has GPUs {share.gpus}, the first are {first}"
        if taken & set(share.hcas):
            yield f"{container.name} has HCAs {share.hcas}, of which a running sidecar has some"


def _levels(world: World, request: PodRequest, allocation: Allocation) -> Iterator[str]:
    choice = choice_in(world, request, allocation)
    reached = None
    if choice.gpus and choice.hcas:
        reached = max(min(world.level(gpu, hca) for hca in choice.hcas) for gpu in choice.gpus)
    if allocation.gpu_hca != reached:
        yield f"gpu_hca is {allocation.gpu_hca!r}, reached is {reached!r}"


def _charges(world: World, request: PodRequest, allocation: Allocation) -> Iterator[str]:
    """What is booked: milli-CPUs by usable CPUs; memory and pages by what is free, never more than that."""
    choice = choice_in(world, request, allocation)
    booked = {charge.numa: charge for charge in allocation.charges}
    if list(booked) != sorted(booked) or len(booked) != len(allocation.charges):
        yield f"charges {allocation.charges} are not by numa"
    numas = allocation.numas
    confined = request.cpu_mode is CpuMode.CONFINED and not choice.fallback
    milli = confined_shares(world, request, numas) if confined else {}
    memory_bytes = 0 if request.memory_mode is MemoryMode.OFF else request.memory_bytes
    memory = split(min(memory_bytes, memory_in(world, numas)), {numa: world.memory[numa] for numa in numas})
    pages = {
        amount.page_bytes: split(
            min(amount.pages, pages_in(world, numas, amount.page_bytes)),
            {numa: world.pages.get((numa, amount.page_bytes), 0) for numa in numas},
        )
        for amount in request.hugepages
    }
    for numa in {*booked, *numas}:
        charge = booked.get(numa)
        found = (
            charge.shared_cpu_milli if charge else 0,
            charge.memory_bytes if charge else 0,
            {amount.page_bytes: amount.pages for amount in charge.hugepages} if charge else {},
        )
        wanted = (
            milli.get(numa, 0),
            memory.get(numa, 0),
            {size: shares[numa] for size, shares in pages.items() if shares.get(numa)},
        )
        if found != wanted:
            yield f"numa {numa} is charged {found}, not {wanted}"


def cpus_by_numa(world: World, allocation: Allocation) -> dict[NumaId, int]:
    """How many exclusive CPUs the Pod has in each numa of its allocation."""
    return {numa: len(world.usable[numa] & set(allocation.cpus)) for numa in allocation.numas}

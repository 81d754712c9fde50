"""Whether exclusive CPUs follow the CPU rule and the split over numas, judged where the contract leaves one answer.

Each function returns complaints in words. Cases in which several containers, or
confined Pods, leave more than one right answer are passed over here.
"""

from collections.abc import Iterator
from itertools import combinations

from numaplace.model.allocation import Allocation
from numaplace.model.ids import NumaId
from numaplace.model.request import ContainerKind, CpuRule, PodRequest
from tests.oracle.inside import choice_in, cpus_by_numa
from tests.oracle.search import split, whole_core_cpus
from tests.oracle.world import World

Cpus = frozenset[int]


def complaints(world: World, request: PodRequest, allocation: Allocation) -> list[str]:
    """Everything about the choice of CPUs that the contract forbids."""
    found = [*_split(world, request, allocation)]
    for container in request.containers:
        if container.kind is not ContainerKind.INIT and container.cpus:
            cpus = frozenset(allocation.containers[container.name].cpus)
            if request.cpu_rule is CpuRule.FULL_CORES_ONLY:
                found += [f"{container.name} has core {sorted(core)} in part" for core in _broken(world, cpus)]
    owners = [c for c in request.containers if c.kind is not ContainerKind.INIT and c.cpus]
    if len(owners) == 1:
        for numa in allocation.numas:
            taken = frozenset(allocation.cpus) & world.usable[numa]
            found += [f"numa {numa}: {text}" for text in _one_numa(world, request, numa, taken)]
    return found


def _one_numa(world: World, request: PodRequest, numa: NumaId, taken: Cpus) -> Iterator[str]:
    """A single container's CPUs in one numa."""
    free = world.free_cpus(numa)
    if not taken:
        return
    kinds = [frozenset(kind.cpus) & free for kind in world.topology.core_kinds]
    if kinds:
        if any(len(kind) >= len(taken) for kind in kinds) and not any(taken <= kind for kind in kinds):
            yield f"mixes kinds of cores in {sorted(taken)}"
        return
    if request.cpu_rule is CpuRule.SPREAD:
        touched = [core for core in _free_cores(world, free) if core & taken]
        most = min(len(taken), len(_free_cores(world, free)))
        if len(touched) != most:
            yield f"{sorted(taken)} lie on {len(touched)} cores, could on {most}"
        return
    if not _even(world):
        return
    whole = world.whole_cores(numa)
    complete = [core for core in whole if core <= taken]
    most = min(len(whole), len(taken) // world.threads)
    if len(complete) < most:
        yield f"{sorted(taken)} hold {len(complete)} whole cores, could {most}"
    else:
        yield from _caches(world, free, taken, most)


def _caches(world: World, free: Cpus, taken: Cpus, whole: int) -> Iterator[str]:
    """Fewest LLC groups; of single groups that serve, the one that is left fullest."""
    groups = [frozenset(llc.cpus) & free for llc in world.topology.llcs]
    groups = [group for group in groups if group]
    if not taken <= frozenset().union(*groups):
        return
    used = sum(bool(group & taken) for group in groups)

    def serves(union: Cpus) -> bool:
        cores = [core for core in _cores(world) if core <= union]
        return len(cores) >= whole and len(union) >= len(taken)

    fewest = next(
        size
        for size in range(1, len(groups) + 1)
        if any(serves(frozenset().union(*some)) for some in combinations(groups, size))
    )
    if used > fewest:
        yield f"{sorted(taken)} lie in {used} LLC groups, could in {fewest}"
    if used == fewest == 1:
        left = min(len(group) - len(taken) for group in groups if serves(group))
        chosen = next(group for group in groups if taken <= group)
        if len(chosen) - len(taken) > left:
            yield f"{sorted(taken)} leave {len(chosen) - len(taken)} CPUs of the LLC group, another one {left}"


def _split(world: World, request: PodRequest, allocation: Allocation) -> Iterator[str]:
    """Several numas: CPUs in proportion to the GPUs chosen on each (else evenly), as far as they are free there."""
    if not request.cpus or len(allocation.numas) < 2 or not _even(world):
        return
    got = cpus_by_numa(world, allocation)
    threads = 1 if request.cpu_rule is CpuRule.SPREAD else world.threads
    gpus = choice_in(world, request, allocation).gpus
    weights = {numa: sum(world.homes[gpu.pci] == numa for gpu in gpus) for numa in allocation.numas}
    if not any(weights.values()):
        weights = dict.fromkeys(allocation.numas, 1)
    cores, odd = divmod(request.cpus, threads)
    wanted = {numa: share * threads for numa, share in split(cores, weights).items()}
    ample = all(
        len(world.whole_cores(numa)) * world.threads >= wanted[numa] + threads
        and world.can_give(numa) >= wanted[numa] + threads
        for numa in allocation.numas
        if weights[numa]
    )
    if ample:
        off = {numa: got[numa] - wanted[numa] for numa in allocation.numas if got[numa] != wanted[numa]}
        if list(off.values()) != [odd] * bool(odd):
            yield f"CPUs are split {got}, wanted {wanted} and {odd} more in one numa"
        elif any(not weights[numa] for numa in off):
            yield f"the odd CPU of {got} lies where no chosen GPU is"
    for numa in allocation.numas if request.cpu_rule is not CpuRule.FULL_CORES_ONLY else ():
        at_least = request.cpus * weights[numa] // sum(weights.values())
        has = min(world.can_give(numa), whole_core_cpus(world, numa) if threads > 1 else world.can_give(numa))
        if got[numa] <= min(at_least, has) - threads:
            yield f"numa {numa} gives {got[numa]} CPUs, its part is {at_least} and it has {has} in whole cores"


def _even(world: World) -> bool:
    """Whether every core has the same number of threads; else "whole core" has more than one meaning."""
    return len({len(core) for core in _cores(world)}) == 1


def _cores(world: World) -> list[Cpus]:
    return [frozenset(core & world.topology.online) for core in world.topology.cores]


def _free_cores(world: World, free: Cpus) -> list[Cpus]:
    """What is free of each core, cores without anything free left out."""
    return [core & free for core in _cores(world) if core & free]


def _broken(world: World, cpus: Cpus) -> list[Cpus]:
    return [core for core in _cores(world) if core & cpus and not core <= cpus]

"""The best place by brute force: every set of units, of GPUs and of HCAs, under the whole key.

Written from the contract of the placement engine, never from the placer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from numaplace.model.cluster import NodeState
from numaplace.model.devices import Gpu, Hca
from numaplace.model.ids import NumaId
from numaplace.model.request import ContainerKind, CpuMode, CpuRule, Exclusivity, MemoryMode, PodRequest, Policy
from tests.oracle.symmetry import sets_of
from tests.oracle.world import Unit, World, empty_and_healthy, whole_cpus, world_of

Key = tuple[object, ...]


@dataclass(frozen=True)
class Choice:
    """One candidate with its devices: everything the key looks at."""

    units: tuple[Unit, ...]
    numas: tuple[NumaId, ...]  # those that serve the request, inside the units
    gpus: tuple[Gpu, ...]
    hcas: tuple[Hca, ...]
    fallback: bool = False  # BestEffort's last resort

    @property
    def all_numas(self) -> tuple[NumaId, ...]:
        return tuple(sorted(numa for unit in self.units for numa in unit))


def best_of(node: NodeState, request: PodRequest) -> tuple[Key, Choice] | None:
    """The one right answer of the node, or None where nothing fits."""
    return best(world_of(node), request)


def best(world: World, request: PodRequest, *, marks_bar: bool = True) -> tuple[Key, Choice] | None:
    """The least key and its choice; `marks_bar` False leaves `Required` without effect."""
    if not pool_holds(world, request):
        return None
    if request.policy is Policy.SINGLE_NUMA_NODE:
        widths = [1]
    elif request.policy is Policy.RESTRICTED:
        widths = least_width(world, request)
    else:
        widths = list(range(1, len(world.units) + 1))
    for width in widths:  # the width comes first in the key
        allowed = (c for c in choices(world, request, width) if not (marks_bar and barred(world, request, c)))
        found = _least(world, request, allowed)
        if found is not None:
            return found
    aligned = request.policy in (Policy.SINGLE_NUMA_NODE, Policy.RESTRICTED)
    return None if aligned else _least(world, request, fallbacks(world, request))


def _least(world: World, request: PodRequest, some: Iterator[Choice]) -> tuple[Key, Choice] | None:
    return min(((key_of(world, request, choice), choice) for choice in some), key=lambda pair: pair[0], default=None)


def least_width(world: World, request: PodRequest) -> list[int]:
    """The width that Restricted demands; empty where the request would not even fit an empty, healthy node."""
    empty = empty_and_healthy(world)
    if not pool_holds(empty, request):
        return []
    for width in range(1, len(world.units) + 1):
        if next(choices(empty, request, width), None) is not None:
            return [width]
    return []


def choices(world: World, request: PodRequest, width: int) -> Iterator[Choice]:
    """Every feasible choice of this width, marks apart."""
    by_numa = all(len(unit) == 1 for unit in world.units)
    for units in combinations(world.units, width):
        everything = tuple(sorted(numa for unit in units for numa in unit))
        subsets = [everything] if by_numa else _subsets(everything)
        for numas in subsets:
            if serves(world, request, numas):
                yield from _with_devices(world, request, units, numas)


def fallbacks(world: World, request: PodRequest) -> Iterator[Choice]:
    """All placeable numas and the devices of unknown numa too; confined Pods float here."""
    if world.units and serves(world, request, world.numas, floats=True):
        yield from _with_devices(world, request, world.units, world.numas, fallback=True)


def serves(world: World, request: PodRequest, numas: tuple[NumaId, ...], *, floats: bool = False) -> bool:
    """Whether these numas alone have the CPUs, pages and (bound) memory; devices apart."""
    if request.cpus and not exclusive_cpus_fit(world, request, numas):
        return False
    if request.cpu_mode is CpuMode.CONFINED and not floats:
        for numa, share in confined_shares(world, request, numas).items():
            if 1000 * len(world.free_cpus(numa)) < world.confined.get(numa, 0) + share:
                return False
    if any(pages_in(world, numas, wanted.page_bytes) < wanted.pages for wanted in request.hugepages):
        return False
    strict = request.memory_mode is MemoryMode.BIND
    return not (strict and memory_in(world, numas) < request.memory_bytes)


def exclusive_cpus_fit(world: World, request: PodRequest, numas: tuple[NumaId, ...]) -> bool:
    if sum(world.can_give(numa) for numa in numas) < request.cpus:
        return False
    if request.cpu_rule is not CpuRule.FULL_CORES_ONLY:
        return True
    own = [c.cpus for c in request.containers if c.kind is not ContainerKind.INIT]
    if any(count % world.threads for count in own):
        return False
    return sum(whole_core_cpus(world, numa) for numa in numas) >= request.cpus


def whole_core_cpus(world: World, numa: NumaId) -> int:
    """The most CPUs of this numa that can be given in whole cores only, in portions of one core's threads."""
    given = 0
    for core in sorted(world.whole_cores(numa), key=len, reverse=True):
        if given + len(core) <= world.can_give(numa):
            given += len(core)
    return given - given % world.threads


def memory_in(world: World, numas: tuple[NumaId, ...]) -> int:
    return sum(world.memory[numa] for numa in numas)


def pages_in(world: World, numas: tuple[NumaId, ...], page_bytes: int) -> int:
    return sum(world.pages.get((numa, page_bytes), 0) for numa in numas)


def confined_shares(world: World, request: PodRequest, numas: tuple[NumaId, ...]) -> dict[NumaId, int]:
    return split(request.shared_cpu_milli, {numa: len(world.usable[numa]) for numa in numas})


def split(amount: int, weights: dict[NumaId, int]) -> dict[NumaId, int]:
    """`amount` in proportion to the weights: largest remainder, ties to the lower id."""
    total = sum(weights.values())
    if not total:
        return dict.fromkeys(weights, 0)
    shares = {numa: amount * weight // total for numa, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda numa: (-(amount * weights[numa] % total), numa))
    for numa in by_remainder[: amount - sum(shares.values())]:
        shares[numa] += 1
    return shares


def pool_holds(world: World, request: PodRequest) -> bool:
    """The rules of the whole node: shared CPUs keep enough, and at least one core; who asks no CPU takes none."""
    if not request.cpus and not request.shared_cpu_milli:
        return True
    usable = sum(len(cpus) for cpus in world.usable.values())
    taken = len(world.exclusive) + request.cpus
    shared = world.floating + sum(world.confined.values()) + request.shared_cpu_milli
    if 1000 * (usable - taken) < shared:
        return False
    if request.cpus and usable + len(world.reserved) - taken < world.threads:
        return False
    return world.allocatable is None or world.allocatable >= 1000 * taken + shared


def _with_devices(
    world: World, request: PodRequest, units: tuple[Unit, ...], numas: tuple[NumaId, ...], *, fallback: bool = False
) -> Iterator[Choice]:
    gpus = [gpu for gpu in world.gpus if fallback or world.reaches(gpu, numas)]
    for chosen in sets_of(world, gpus, request.gpus):
        for hcas in _hca_sets(world, request, Choice(units, numas, chosen, (), fallback)):
            choice = Choice(units, numas, chosen, hcas, fallback)
            if gpu_hca_holds(world, request, choice):
                yield choice


def _hca_sets(world: World, request: PodRequest, choice: Choice) -> Iterator[tuple[Hca, ...]]:
    if not request.hcas:
        yield ()
    elif request.hcas_exclusive:
        free = [hca for hca in world.hcas if choice.fallback or world.reaches(hca, choice.numas)]
        yield from sets_of(world, free, request.hcas)
    elif world.near_hcas:
        yield shared_hcas(world, choice)


def shared_hcas(world: World, choice: Choice) -> tuple[Hca, ...]:
    """All healthy HCAs at each GPU's best level; without GPUs those of the numas, else the nearest ones."""
    if choice.gpus:
        names = set().union(*(world.nearest_names(gpu) for gpu in choice.gpus))
        return tuple(hca for hca in world.near_hcas if hca.name in names)
    homes = {hca: world.homes[hca.name] for hca in world.near_hcas}
    away = {
        hca: min(world.topology.distance(numa, home) if numa != home else 0 for numa in choice.numas)
        for hca, home in homes.items()
        if home is not None
    }
    least = min(away.values(), default=None)
    return tuple(hca for hca in world.near_hcas if away.get(hca) == least)


def gpu_hca_holds(world: World, request: PodRequest, choice: Choice) -> bool:
    if request.gpu_hca is None or not request.gpus or not request.hcas:
        return True
    among = choice.hcas if request.hcas_exclusive else world.near_hcas
    return all(_nearest(world, gpu, among) <= request.gpu_hca for gpu in choice.gpus)


def _nearest(world: World, gpu: Gpu, hcas: tuple[Hca, ...]) -> int:
    return min(world.level(gpu, hca) for hca in hcas)


def barred(world: World, request: PodRequest, choice: Choice) -> bool:
    """Whether `Required` exclusivity forbids these units (SingleNUMANode and Restricted only)."""
    strict = request.policy in (Policy.SINGLE_NUMA_NODE, Policy.RESTRICTED)
    return strict and request.exclusivity is Exclusivity.REQUIRED and marks_violated(world, request, choice) > 0


def marks_violated(world: World, request: PodRequest, choice: Choice) -> int:
    if request.policy is Policy.NONE:
        return 0
    against = world.wide if len(choice.units) == 1 else world.single
    return len(against & set(choice.units))


def key_of(world: World, request: PodRequest, choice: Choice) -> Key:
    """The whole key of section 5, smaller is better."""
    marks = marks_violated(world, request, choice)
    if choice.fallback:
        unknown = sum(world.homes[gpu.pci] is None for gpu in choice.gpus)
        if request.hcas_exclusive:
            unknown += sum(world.homes[hca.name] is None for hca in choice.hcas)
        head: Key = (len(world.units) + 1, unknown, marks)
    else:
        head = (len(choice.units), 0, marks)
    return (
        *head,
        len(choice.numas) if any(len(unit) > 1 for unit in world.units) else 0,
        sum(_unit_distance(world, a, b) for a, b in combinations(choice.units, 2)),
        _memory_short(world, request, choice),
        groups_broken(world, choice),
        sum(world.level(a, b) for a, b in combinations(choice.gpus, 2)),
        sum(_nearest(world, gpu, choice.hcas) for gpu in choice.gpus) if choice.hcas else 0,
        _free_gpus_left(world, choice),
        _free_cpus_left(world, request, choice),
        tuple(world.units.index(unit) for unit in choice.units),
        tuple(gpu.pci for gpu in choice.gpus),
        tuple(hca.name for hca in choice.hcas) if request.hcas_exclusive else (),  # shared ones follow from the rest
        choice.numas,
    )


def _unit_distance(world: World, a: Unit, b: Unit) -> int:
    return min(world.topology.distance(i, j) for i in a for j in b)


def _memory_short(world: World, request: PodRequest, choice: Choice) -> int:
    if request.memory_mode is not MemoryMode.PREFER:
        return 0
    return max(0, request.memory_bytes - memory_in(world, choice.all_numas))


def groups_broken(world: World, choice: Choice) -> int:
    free, taken = {gpu.pci for gpu in world.gpus}, {gpu.pci for gpu in choice.gpus}
    return sum(group <= free and bool(group & taken) and not group <= taken for group in world.groups)


def _free_gpus_left(world: World, choice: Choice) -> int:
    in_reach = [gpu for gpu in world.gpus if choice.fallback or world.reaches(gpu, choice.all_numas)]
    return len(in_reach) - len(choice.gpus)


def _free_cpus_left(world: World, request: PodRequest, choice: Choice) -> int:
    confined = dict(world.confined)
    if request.cpu_mode is CpuMode.CONFINED and not choice.fallback:
        for numa, share in confined_shares(world, request, choice.numas).items():
            confined[numa] = confined.get(numa, 0) + share
    left = sum(len(world.free_cpus(numa)) - whole_cpus(confined.get(numa, 0)) for numa in choice.all_numas)
    return left - request.cpus


def _subsets(numas: tuple[NumaId, ...]) -> list[tuple[NumaId, ...]]:
    return [some for size in range(1, len(numas) + 1) for some in combinations(numas, size)]

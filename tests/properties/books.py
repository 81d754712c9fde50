"""Hypothesis strategies for nodes with books: holders made by hand from whatever is free, no placer asked.

CPUs are taken one by one and anywhere, so cores break and marks meet in ways that
no placer would cause.
"""

from dataclasses import dataclass
from itertools import islice

from hypothesis import strategies as st

from numaplace.model.cluster import NodeState, Phase
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NodeName, NumaId
from numaplace.model.request import Policy
from tests.oracle.described import GIB, PAGE, Shape
from tests.oracle.pods import NODE, floating, holder, node_of
from tests.oracle.world import World, whole_cpus, world_of
from tests.properties.machines import shapes


@dataclass(frozen=True)
class Wish:
    """What a holder made by hand takes, as far as it is there."""

    numas: tuple[int, ...]  # counted among the placeable ones
    cpus: int
    skip: int  # free CPUs to leave out in front
    gpus: int
    hcas: int
    milli: int
    memory_gib: int
    pages: int
    policy: Policy
    phase: Phase
    unnamed: bool  # runs without an allocation


WISHES = st.builds(
    Wish,
    numas=st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True).map(tuple),
    cpus=st.sampled_from([0, 1, 2, 3, 5]),
    skip=st.integers(0, 3),
    gpus=st.sampled_from([0, 0, 1, 2, 3]),
    hcas=st.sampled_from([0, 0, 1, 2]),
    milli=st.sampled_from([0, 0, 500, 1000, 2500]),
    memory_gib=st.integers(0, 3),
    pages=st.integers(0, 2),
    policy=st.sampled_from(list(Policy)),
    phase=st.sampled_from(list(Phase)),
    unnamed=st.integers(0, 7).map(lambda n: n == 7),
)


@dataclass(frozen=True)
class Scene:
    """A node in few numbers, so that a counter-example can be read."""

    shape: Shape
    wishes: tuple[Wish, ...] = ()
    reserved: tuple[int, ...] = ()
    by_package: bool = False
    allocatable_milli: int | None = None

    def node(self, name: str = NODE, *, enabled: bool = True) -> NodeState:
        """The node with its book."""
        node = node_of(
            self.shape,
            reserved=str(CpuSet.of(self.reserved)),
            by_package=self.by_package,
            allocatable_milli=self.allocatable_milli,
            name=NodeName(name),
            enabled=enabled,
        )
        for index, wish in enumerate(self.wishes):
            node = taken(node, f"held-{index}", wish)
        return node


def scenes(machines: st.SearchStrategy[Shape] | None = None, most_holders: int = 4) -> st.SearchStrategy[Scene]:
    """A node, empty or partly taken."""
    return st.builds(
        Scene,
        shape=shapes() if machines is None else machines,
        wishes=st.lists(WISHES, max_size=most_holders).map(tuple),
        reserved=st.lists(st.integers(0, 20), max_size=3).map(tuple),
        by_package=st.integers(0, 3).map(lambda n: n == 3),
        allocatable_milli=st.sampled_from([None, None, None, 6000, 12000]),
    )


def taken(node: NodeState, uid: str, wish: Wish) -> NodeState:
    """The node with one more holder, who got what there was of the wish."""
    world = world_of(node)
    if wish.unnamed or not world.usable:
        return node.holding(floating(uid, milli=wish.milli, gpus=wish.gpus))
    numas = sorted({world.numas[i % len(world.numas)] for i in wish.numas})
    free = sorted(cpu for numa in numas for cpu in list(_givable(world, numa)))
    cpus = CpuSet.of(islice(free, min(wish.skip, len(free)), wish.skip + wish.cpus))
    gpus = [gpu.pci for gpu in world.gpus if world.homes[gpu.pci] in (*numas, None)]
    hcas = [hca.name for hca in world.hcas if world.homes[hca.name] in (*numas, None)]
    first = numas[0]
    confined = wish.policy is not Policy.NONE and not cpus
    room = 1000 * (len(world.free_cpus(first) - set(cpus)) - whole_cpus(world.confined.get(first, 0)))
    return node.holding(
        holder(
            uid,
            numas,
            cpus=str(cpus),
            gpus=gpus[: wish.gpus],
            hcas=hcas[: wish.hcas],
            policy=wish.policy,
            milli={first: min(wish.milli, room)} if confined and wish.milli > 0 and room > 0 else {},
            memory_gib={first: min(wish.memory_gib, world.memory[first] // GIB)},
            pages={first: min(wish.pages, world.pages.get((first, PAGE), 0))},
            phase=wish.phase,
        )
    )


def _givable(world: World, numa: NumaId) -> list[int]:
    """Free CPUs that confined Pods can spare."""
    return sorted(world.free_cpus(numa), reverse=True)[: world.can_give(numa)]

"""What must not wait for other writes, however many there are: the Lease, and a Pod that has a place."""

from dataclasses import replace

from numaplace.adapters.kube import Kube, Patience
from numaplace.adapters.kube.fake import HoldAnswer
from tests.services.planner.reader import allocation_of
from tests.services.planner.world import CALM_TIMES, QUICK, gated, nodes_of, world_of


async def test_the_lease_is_renewed_while_every_connection_for_writes_is_taken() -> None:
    async with world_of(nodes_of()) as world, Kube(world.server.access(), connections=2) as kube:
        world.kube = kube
        world.server.fail(held := HoldAnswer(), "PATCH", "/pods/", 4)
        world.add(*(gated(f"p{i}", gpus=0, annotations={}) for i in range(4)))
        planner = world.start()
        await world.until(lambda: world.asked("PATCH") == 2)
        renewals = sum(1 for one in world.server.asked if one.method == "PUT")
        await world.until(lambda: sum(1 for one in world.server.asked if one.method == "PUT") >= renewals + 3)
        assert world.asked("PATCH") == 2
        held.until.set()
        await world.kill(planner)


async def test_a_pod_that_has_a_place_waits_for_nobodys_notice() -> None:
    names = [f"p{i}" for i in range(4)]
    async with world_of([]) as world, Kube(world.server.access(), patience=Patience(60.0, 60.0)) as kube:
        world.kube = kube
        world.server.fail(held := HoldAnswer(), "PATCH", "/first/status", 1)
        world.add(gated("first", gpus=2, cpus=6))
        planner = world.start(replace(QUICK, writes=1), times=CALM_TIMES)
        await world.until(lambda: world.asked("PATCH", "/first/status") == 1)
        world.add(*(gated(name) for name in names[:2]))
        await world.quiet()  # their notices wait for the first one's
        world.add_nodes(nodes_of())
        await world.until_bound(*names[:2])
        held.until.set()
        await world.until_bound("first")
        await world.kill(planner)


async def test_pods_that_are_long_on_their_way_keep_nobody_from_being_planned() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.add(gated("slow"))
        world.start(replace(QUICK, outstanding=1))
        world.add(gated("next"))
        await world.until(lambda: all(allocation_of(world.pod(name)) for name in ("slow", "next")))

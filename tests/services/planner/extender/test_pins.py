"""Pods whose scheduler asks, and that leave the gate with a pin all the same: two writes a Pod, and no other node."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from numaplace.model.keys import ALLOCATION
from numaplace.services.planner import Limits
from tests.services.planner.asking import AskingScheduler, Pod, door
from tests.services.planner.extender.test_answers import ASKED, all_but, all_is_well, binding, open_pod, scheduled
from tests.services.planner.reader import allocation_of, pin_of, things_of
from tests.services.planner.test_read_back import owned
from tests.services.planner.world import QUICK, World, gated, nodes_of, world_of

PINS = replace(ASKED, extender_pins=True)


@contextlib.asynccontextmanager
async def pinning(world: World, limits: Limits = QUICK, **more: Any) -> AsyncIterator[AskingScheduler]:
    """A planner that pins, and no scheduler but the one that asks it."""
    world.scheduling = False
    async with scheduled(world, limits, PINS, **more) as scheduler:
        yield scheduler


async def test_a_pod_with_cards_costs_one_patch_and_a_binding() -> None:
    async with world_of(nodes_of(3)) as world, pinning(world) as scheduler:
        world.add(gated("p", gpus=2, cpus=4))
        await world.until_bound("p")
        pod = world.pod("p")
        assert pin_of(pod) == allocation_of(pod)["node"] == pod["spec"]["nodeName"]
        assert scheduler.asked == [("p", [pod["spec"]["nodeName"]])]
        assert (world.asked("PATCH"), world.asked("POST", "/binding")) == (1, 1)
        all_is_well(world)


async def test_pods_with_a_pin_and_pods_that_were_never_gated_share_nodes() -> None:
    async with world_of(nodes_of(3)) as world, pinning(world):
        world.add(*(gated(f"p{i}") for i in range(6)), *(open_pod(f"q{i}") for i in range(8)))
        await world.until(lambda: sum(1 for pod in world.pods if pod["spec"].get("nodeName")) == 12)
        pins = {pod["metadata"]["name"]: pin_of(pod) for pod in world.pods if pod["spec"].get("nodeName")}
        assert all(bool(pin) == name.startswith("p") for name, pin in pins.items())
        all_is_well(world)


async def test_a_pod_that_had_to_wait_is_hinted_before_it_is_let_go() -> None:
    async with world_of([]) as world, pinning(world):
        world.add(gated("p"))
        await world.until_refused("p")
        world.add_nodes(nodes_of())
        await world.until_bound("p")
        assert pin_of(world.pod("p")) == "n1"
        assert world.asked("PATCH", "/p/status") == 2  # why it waits, then where it goes
        all_is_well(world)


async def test_a_pinned_pod_whose_node_the_scheduler_refuses_is_given_up_as_without_the_extender() -> None:
    quick = replace(QUICK, stuck_s=0.05)
    async with world_of(nodes_of()) as world, pinning(world, quick, takes=all_but("n1")):
        pod = gated("p")
        owned(pod)
        world.add(pod)
        await world.until(lambda: world.asked("POST", "/eviction") > 0)


async def test_a_pod_that_was_never_gated_is_planned_on_another_node_when_its_own_is_refused() -> None:
    async with world_of(nodes_of(2)) as world, pinning(world, takes=all_but("n1")):
        world.add(open_pod("p"))
        await world.until_bound("p")
        assert world.pod("p")["spec"]["nodeName"] == "n2"
        all_is_well(world)


async def test_a_pinned_pod_is_bound_by_the_planner_that_follows_one_that_dies() -> None:
    async with world_of(nodes_of(2)) as world:
        world.scheduling = False
        first = world.start(settings=PINS, door=door())
        world.add(gated("p"))
        await world.until(lambda: bool(pin_of(world.pod("p"))))
        await world.kill(first)
        before = allocation_of(world.pod("p"))
        async with pinning(world):
            await world.until_bound("p")
        assert allocation_of(world.pod("p")) == before


async def test_a_pinned_pod_whose_allocation_somebody_took_away_gets_it_again_before_it_is_bound() -> None:
    async with world_of(nodes_of()) as world, pinning(world, idle=True) as scheduler:
        world.add(gated("p"))
        await world.until(lambda: bool(pin_of(world.pod("p"))))
        before = things_of(world.pod("p"))

        def bare(pod: Pod) -> Any:
            del pod["metadata"]["annotations"][ALLOCATION]

        world.change("p", bare)
        await world.until(lambda: ALLOCATION in world.pod("p")["metadata"]["annotations"])
        assert (await scheduler.ask("bind", binding(world.pod("p"), "n1")))["Error"] == ""
        assert things_of(world.pod("p")) == before
        all_is_well(world)

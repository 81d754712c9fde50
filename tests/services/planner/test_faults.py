"""Whatever goes wrong between planner and API server: every Pod arrives once, and nothing is given twice."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from numaplace.adapters.kube import Key
from numaplace.adapters.kube.fake import Answer, DropRequest, HoldAnswer, LoseAnswer
from numaplace.adapters.kube.fake.faults import Effect
from numaplace.adapters.kube.resources import NODES
from numaplace.model import keys
from tests.services.planner.reader import allocation_of, double_grants, misplaced, pin_of
from tests.services.planner.world import QUICK, SETTINGS, World, gated, nodes_of, world_of

NAMES = tuple(f"p{i}" for i in range(6))

EFFECTS = {
    "lost answer": LoseAnswer(),
    "dropped request": DropRequest(),
    "conflict": Answer(409, "Conflict"),
    "invalid": Answer(422, "Invalid"),
    "denied": Answer(403, "Forbidden"),
    "busy": Answer(429, "TooManyRequests"),
    "broken": Answer(500, "InternalError"),
    "gone away": Answer(503, "ServiceUnavailable"),
}


def all_is_well(world: World) -> None:
    assert double_grants(world.pods) == []
    assert misplaced(world.pods) == []


@pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS)
@pytest.mark.parametrize("times", [1, 5])
async def test_a_write_that_fails_is_made_good(effect: Effect, times: int) -> None:
    async with world_of(nodes_of(2)) as world:
        world.server.fail(effect, "PATCH", "/pods/p", times)
        world.add(*(gated(name) for name in NAMES))
        world.start()
        await world.until_bound(*NAMES)
        all_is_well(world)


@pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS)
@pytest.mark.parametrize("times", [1, 5])
async def test_a_hint_that_fails_is_made_good(effect: Effect, times: int) -> None:
    async with world_of([]) as world:
        world.add(*(gated(name) for name in NAMES))
        world.start()
        await world.until_refused(*NAMES)
        world.server.fail(effect, "PATCH", "/status", times)
        world.add_nodes(nodes_of(2))
        await world.until_bound(*NAMES)
        all_is_well(world)


@pytest.mark.parametrize("clean", [True, False])
async def test_watches_that_end_are_resumed(clean: bool) -> None:
    async with world_of(nodes_of(2)) as world:
        world.start()
        for name in NAMES:
            world.add(gated(name))
            world.server.watches.cut(clean=clean)
            await world.until_bound(name)
        all_is_well(world)


async def test_a_forgotten_version_is_listed_anew() -> None:
    async with world_of(nodes_of(2)) as world:
        world.start()
        world.add(gated("a"), gated("b", gpus=2, cpus=4))
        await world.until_bound("a", "b")
        world.server.forget()
        world.remove("b")
        lists = world.asked("GET", "/pods")
        world.server.watches.cut(clean=True)
        world.add(*(gated(name) for name in NAMES))
        await world.until(lambda: world.asked("GET", "/pods") >= lists + 3)  # a watch that is too old, a list, a watch
        world.uses("n1", "a")
        await world.until_bound(*NAMES)
        all_is_well(world)


async def test_a_pod_that_goes_while_it_is_planned_gives_everything_back() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.start()
        world.add(gated("goes", gpus=2, cpus=6), gated("stays", gpus=2, cpus=8))
        await world.until(lambda: all(pin_of(world.pod(name)) for name in ("goes", "stays")))
        world.remove("goes")
        world.add(gated("comes", gpus=2, cpus=6))
        world.scheduling = True
        await world.until_bound("stays", "comes")
        all_is_well(world)


async def test_a_pod_that_goes_while_it_is_written_to_is_no_plan_under_way() -> None:
    async with world_of(nodes_of()) as world:
        world.server.fail(Answer(503), "PATCH", "/goes/status", 1000)
        world.add(gated("goes"))
        world.start(replace(QUICK, outstanding=1, stuck_s=60.0))
        await world.until(lambda: world.asked("PATCH") > 0)
        world.remove("goes")
        world.add(gated("comes"))
        world.server.faults.clear()
        await world.until_bound("comes")


async def test_a_pod_that_cannot_be_read_for_a_while_ends_no_planner() -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.server.fail(Answer(503), "PATCH", "/pods/p", 10_000)
        world.add(gated("p"))
        await world.until(lambda: world.asked("PATCH", "/pods/p") > 0)
        world.change("p", lambda pod: pod["spec"].update(priority="high"))
        reads = world.asked("GET", "/pods/p")
        await world.until(lambda: world.asked("GET", "/pods/p") >= reads + 2)
        world.change("p", lambda pod: pod["spec"].update(priority=0))
        world.server.faults.clear()
        await world.until_bound("p")


PASSES: dict[str, Callable[[World], None]] = {
    "deleted": lambda world: world.remove("p"),
    "ended": lambda world: world.change("p", lambda pod: pod["status"].update(phase="Succeeded")),
}


@pytest.mark.parametrize("passes", PASSES.values(), ids=PASSES)
async def test_a_pod_that_passes_while_it_is_read_again_is_not_booked_once_more(
    passes: Callable[[World], None],
) -> None:
    async with world_of(nodes_of()) as world:
        world.server.fail(LoseAnswer(), "PATCH", "/pods/p", 1)
        world.server.fail(read := HoldAnswer(), "GET", "/pods/p", 1)
        world.start(settings=replace(SETTINGS, release_grace_s=0.1))
        world.add(gated("p", gpus=2, cpus=6))
        await world.until(lambda: world.asked("GET", "/pods/p") == 1)
        await world.until_bound("p")
        passes(world)
        world.add(gated("a", gpus=2, cpus=6), gated("b", gpus=2, cpus=8))
        await world.until_bound("a", "b")  # so the planner knows that p has passed
        read.until.set()
        await world.quiet()
        world.remove("a")
        world.remove("b")
        world.add(gated("c", gpus=2, cpus=6), gated("d", gpus=2, cpus=8))
        await world.until_bound("c", "d")


async def test_a_node_that_goes_while_it_is_planned_is_replaced_by_another() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.server.fail(Answer(503), "PATCH", "/pods/p", 1000)
        world.add(gated("p"))
        world.start()
        await world.until(lambda: world.asked("PATCH") > 0)
        world.server.store.remove(NODES, Key("", "n1"))
        world.add_nodes(nodes_of(name="m#"))
        world.add(gated("witness"))
        await world.until(lambda: pin_of(world.pod("witness")) == "m1")  # so the planner knows that n1 is gone
        world.server.faults.clear()
        world.scheduling = True
        await world.until_bound("p")
        assert world.pod("p")["spec"]["nodeName"] == "m1"


async def test_a_node_that_is_cordoned_before_the_gate_goes_is_not_taken() -> None:
    async with world_of(nodes_of(2)) as world:
        world.server.fail(Answer(503), "PATCH", "/pods/p", 1000)
        world.add(gated("p"))
        world.start()
        await world.until(lambda: world.asked("PATCH") > 0)
        world.change_node("n1", lambda node: node["spec"].update(unschedulable=True))
        world.add(gated("witness"))
        await world.until(lambda: pin_of(world.pod("witness")) == "n2")  # so the planner knows of the cordon
        world.server.faults.clear()
        await world.until_bound("p")
        assert world.pod("p")["spec"]["nodeName"] == "n2"


async def test_a_pod_that_asks_something_else_while_it_is_planned_gets_that() -> None:
    async with world_of(nodes_of()) as world:
        world.server.fail(Answer(503), "PATCH", "/pods/p", 1000)
        world.add(gated("p", gpus=2, cpus=4))
        world.start()
        await world.until(lambda: world.asked("PATCH") > 0)
        world.change("p", lambda pod: pod["metadata"]["annotations"].update({keys.CPU_RULE: "spread"}))
        reads = world.asked("GET", "/pods/p")
        await world.until(lambda: world.asked("GET", "/pods/p") > reads)  # it has seen that, and no write is under way
        world.server.faults.clear()
        await world.until_bound("p")
        assert allocation_of(world.pod("p"))["containers"]["main"]["cpus"] == "0-3"  # four cores, one thread of each


Point = Callable[[World, str], bool]
POINTS: dict[str, Point] = {
    "before anything": lambda world, name: bool(world.pod(name)),
    "after the gate": lambda world, name: not world.pod(name)["spec"].get("schedulingGates"),
    "after the binding": lambda world, name: bool(world.pod(name)["spec"].get("nodeName")),
}


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)
async def test_a_planner_that_dies_is_followed_by_one_that_goes_on(point: Point) -> None:
    async with world_of(nodes_of(2)) as world:
        world.add(*(gated(name) for name in NAMES))
        first = world.start()
        await world.until(lambda: point(world, "p2"))
        await world.kill(first)
        world.add(gated("late"))
        world.start()
        await world.until_bound(*NAMES, "late")
        all_is_well(world)


@pytest.mark.parametrize("step", ["/p2/status", "/pods/p2"])
async def test_a_planner_that_dies_before_it_knows_what_it_wrote_is_followed_by_one_that_sees(step: str) -> None:
    async with world_of([] if "status" in step else nodes_of(2)) as world:
        world.add(*(gated(name) for name in NAMES))
        first = world.start()
        if "status" in step:
            await world.until_refused(*NAMES)
            world.add_nodes(nodes_of(2))
        world.server.fail(LoseAnswer(), "PATCH", step, 1)
        before = world.asked("PATCH", step)
        await world.until(lambda: world.asked("PATCH", step) > before)
        await world.kill(first)
        world.start()
        await world.until_bound(*NAMES)
        all_is_well(world)

"""Two planners that both believe to lead, and whatever else writes to Pods that are planned."""

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from numaplace.adapters.kube import Key
from numaplace.adapters.kube.fake import Answer, DropRequest, LoseAnswer
from numaplace.model import keys
from tests.services.planner.reader import allocation_of, double_grants, misplaced, pin_of
from tests.services.planner.test_read_back import gpus, one_gpu, owned
from tests.services.planner.world import QUICK, REQUIRED, gated, nodes_of, pin_term, world_of

__all__ = ["gpus"]


def annotate(text: str | None) -> Callable[[dict[str, Any]], None]:
    def change(pod: dict[str, Any]) -> None:
        if text is None:
            pod["metadata"]["annotations"].pop(keys.ALLOCATION)
        else:
            pod["metadata"]["annotations"][keys.ALLOCATION] = text

    return change


FAULTS = (Answer(503), LoseAnswer(), DropRequest(), Answer(409, "Conflict"))


@pytest.mark.parametrize("seed", range(6))
async def test_two_planners_end_with_everyone_having_something_of_his_own(seed: int) -> None:
    """Each has a Lease of its own, so that neither knows of the other, and one is slow: they decide in other orders."""
    draw = random.Random(seed)
    async with world_of(nodes_of(4)) as world:
        world.start(replace(QUICK, outstanding=1, stuck_s=60.0), name="slow", lease=Key("kube-system", "a"))
        world.start(name="fast", lease=Key("kube-system", "b"))
        for number in range(14):
            pod = gated(f"p{number}", cpus=draw.choice((2, 2, 4)), priority=draw.randrange(3))
            owned(pod)
            world.add(pod)
            if draw.random() < 0.7:
                world.server.fail(draw.choice(FAULTS), "PATCH", f"/pods/p{number}", draw.randrange(1, 5))
            if draw.random() < 0.3:
                world.server.watches.cut(clean=True)
            if number and draw.random() < 0.3 and world.has(name := f"p{draw.randrange(number)}"):
                world.remove(name)
            await asyncio.sleep(0.02 * draw.random())  # now and then both are faster than the next Pod
        await world.until(lambda: all(pod["spec"].get("nodeName") for pod in world.pods))
        await world.until(lambda: not double_grants(world.pods) and not misplaced(world.pods))
        await world.quiet()
        assert double_grants(world.pods) == []
        assert misplaced(world.pods) == []


async def test_an_allocation_that_another_planner_corrected_is_followed(gpus: list[str]) -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("p"))
        await world.until_bound("p")
        others = one_gpu(gpus[3], "5,13")
        world.change("p", annotate(json.dumps(others)))
        world.add(*(gated(f"q{i}") for i in range(3)))
        await world.until_bound("q0", "q1", "q2")
        assert allocation_of(world.pod("p")) == others
        assert double_grants(world.pods) == []


@pytest.mark.parametrize("text", [None, "no JSON", json.dumps(one_gpu("0000:ff:00.0", ""))])
@pytest.mark.parametrize("bound", [True, False])
async def test_an_allocation_that_cannot_be_is_written_again(text: str | None, bound: bool) -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.start()
        world.add(gated("p"))
        await world.until(lambda: bool(pin_of(world.pod("p"))))
        given = allocation_of(world.pod("p"))
        if bound:
            world.bind("p", "n1")
        world.change("p", annotate(text))
        await world.until(lambda: keys.ALLOCATION in world.pod("p")["metadata"]["annotations"])
        await world.until(lambda: world.pod("p")["metadata"]["annotations"][keys.ALLOCATION] != text)
        assert allocation_of(world.pod("p")) == given


async def test_of_two_bound_pods_the_younger_gives_way_whoever_was_seen_first() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.start()
        world.add(gated("old", gates=(keys.PLAN_GATE, "another/gate")), gated("young"))
        await world.until(lambda: bool(pin_of(world.pod("young"))))
        world.bind("young", "n1")
        taken = allocation_of(world.pod("young"))

        def go(pod: dict[str, Any]) -> None:
            pod["metadata"]["annotations"][keys.ALLOCATION] = json.dumps(taken)
            pod["spec"] |= {"schedulingGates": [], "nodeName": "n1"}

        world.change("old", go)
        await world.until(lambda: not double_grants(world.pods))
        kept = {name: allocation_of(world.pod(name)) == taken for name in ("old", "young")}
        assert kept == {"old": True, "young": False}


@pytest.mark.parametrize("full", [True, False])
async def test_what_a_deposed_planner_writes_late_takes_nothing_from_those_placed_since(full: bool) -> None:
    """A Pod that waits again leaves the gate with what another has by now: it gets what there is, or is reported."""
    async with world_of(nodes_of(), scheduling=False) as world:
        world.start()
        names = ("first", "second") if full else ("first",)
        world.add(*(gated(name, gpus=2) for name in names), gated("late", gpus=2, gates=(keys.PLAN_GATE, "a/gate")))
        await world.until(lambda: all(pin_of(world.pod(name)) for name in names))
        for name in names:
            world.bind(name, "n1")
        taken = allocation_of(world.pod("first"))

        def leave(pod: dict[str, Any]) -> None:
            pod["metadata"]["annotations"][keys.ALLOCATION] = json.dumps(taken)
            terms = [pin_term("n1")]
            pod["spec"] |= {
                "schedulingGates": [],
                "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}},
            }

        world.change("late", leave)
        if full:
            world.uses("n1", *names)
            await world.until(lambda: bool(world.events("NumaStuck")))
            world.remove("second")
        world.bind("late", "n1")  # the scheduler knows of no report
        if full:
            await world.quiet()
            world.uses("n1", "first")
        await world.until(lambda: not double_grants(world.pods))
        assert allocation_of(world.pod("first")) == taken
        assert misplaced(world.pods) == []


async def test_a_pod_that_runs_counts_even_if_what_it_says_cannot_be_read() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        odd = gated("odd", gpus=0, cpus=14, annotations={keys.POLICY: "Nonsense"}, gates=())
        world.add(odd)
        world.change("odd", lambda pod: pod["spec"].update(nodeName="n1"))
        world.start()
        world.add(gated("p", gpus=1, cpus=4))
        await world.until_refused("p", code="CPUS_SHORT")

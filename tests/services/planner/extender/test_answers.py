"""Pods whose scheduler asks the extender face: on their way with a plan, without one, and when it fails."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from numaplace.adapters.kube import Key
from numaplace.adapters.kube.fake import Answer, LoseAnswer
from numaplace.adapters.kube.fake.faults import Effect
from numaplace.adapters.kube.resources import NODES
from numaplace.model import keys
from numaplace.model.refusal import Code
from numaplace.model.settings import Settings
from numaplace.services.planner import Limits
from numaplace.services.planner.extender.answers import ELSEWHERE, refused_text
from tests.services.planner.asking import AskingScheduler, Pod, answers, asking, door
from tests.services.planner.reader import allocation_of, double_grants, misplaced, pin_of
from tests.services.planner.test_read_back import one_gpu, owned
from tests.services.planner.world import QUICK, SETTINGS, World, gated, nodes_of, world_of

ASKED = replace(SETTINGS, extender_for=("default-scheduler",))
PATIENT = replace(QUICK, stuck_s=60.0)  # on a busy machine the scheduler in memory takes its time
NAMES = tuple(f"p{i}" for i in range(6))


def open_pod(name: str, **more: Any) -> Pod:
    """A Pod without gates: made before the gate was there, or opted out of it."""
    return gated(name, gates=(), **more)


@contextlib.asynccontextmanager
async def scheduled(
    world: World, limits: Limits = PATIENT, settings: Settings = ASKED, **more: Any
) -> AsyncIterator[AskingScheduler]:
    """A planner with an extender face, and a scheduler that asks it."""
    at = door()
    world.start(limits, settings, door=at)
    await answers(world, at)
    async with asking(world, at, **more) as scheduler:
        yield scheduler


def all_but(*nodes: str) -> Callable[[Pod, str], bool]:
    """Rules of a scheduler that takes none of these."""

    def takes(_: Pod, node: str) -> bool:
        return node not in nodes

    return takes


def question(pod: Pod, *names: str) -> dict[str, Any]:
    return {"Pod": pod, "Nodes": None, "NodeNames": list(names)}


def binding(pod: Pod, node: str) -> dict[str, Any]:
    meta = pod["metadata"]
    return {"PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"], "Node": node}


def all_is_well(world: World) -> None:
    assert double_grants(world.pods) == []
    assert misplaced(world.pods) == []


# --- the usual way


async def test_a_pod_with_cards_is_hinted_let_go_without_a_pin_and_bound_with_its_allocation() -> None:
    async with world_of(nodes_of(3)) as world, scheduled(world) as scheduler:
        world.add(gated("p", gpus=2, cpus=4))
        await world.until_bound("p")
        pod = world.pod("p")
        assert (pin_of(pod), allocation_of(pod)["node"]) == ("", pod["spec"]["nodeName"])
        assert scheduler.asked == [("p", [pod["spec"]["nodeName"]])]
        assert world.asked("PATCH") == 2
        all_is_well(world)


async def test_a_pod_without_cards_is_pinned_as_ever() -> None:
    async with world_of(nodes_of()) as world, scheduled(world) as scheduler:
        world.add(gated("p", gpus=0, cpus=4))
        await world.until_bound("p")
        assert pin_of(world.pod("p")) == "n1"
        assert scheduler.asked == []


async def test_a_pod_of_a_scheduler_that_does_not_ask_is_pinned() -> None:
    async with world_of(nodes_of()) as world, scheduled(world):
        world.add(gated("p", schedulerName="another"))
        await world.until(lambda: bool(pin_of(world.pod("p"))))


async def test_many_pods_share_nodes_and_nothing_is_given_twice() -> None:
    async with world_of(nodes_of(3)) as world, scheduled(world):
        world.add(*(gated(f"p{i}") for i in range(6)), *(open_pod(f"q{i}") for i in range(8)))
        await world.until(lambda: sum(1 for pod in world.pods if pod["spec"].get("nodeName")) == 12)
        all_is_well(world)


# --- where an autoscaler looks on


async def test_a_pod_that_waits_too_long_leaves_the_gate_and_is_still_placed_by_us() -> None:
    async with world_of(nodes_of()) as world:
        at = door()
        world.start(replace(QUICK, ungate_after_s=0.1), ASKED, door=at)
        await answers(world, at)
        async with asking(world, at) as scheduler:
            world.add(*(gated(f"old{i}") for i in range(4)))
            await world.until_bound(*(f"old{i}" for i in range(4)))
            world.uses("n1", *(f"old{i}" for i in range(4)))
            world.add(gated("p"), gated("cpus", gpus=0, cpus=16))
            await world.until(lambda: not world.pod("p")["spec"].get("schedulingGates"))
            await world.until(lambda: scheduler.said.get("p") == f"1 {refused_text(Code.GPUS_SHORT)}")
            await world.quiet()
            assert world.pod("cpus")["spec"]["schedulingGates"]  # nobody would ask us about it
            world.remove("old0")
            world.uses("n1", "old1", "old2", "old3")
            await world.until_bound("p")
            all_is_well(world)


# --- without a plan


async def test_a_pod_that_comes_without_a_plan_is_planned_when_the_scheduler_asks() -> None:
    async with world_of(nodes_of(3)) as world, scheduled(world) as scheduler:
        world.add(open_pod("p", gpus=2, cpus=4))
        await world.until_bound("p")
        assert scheduler.attempts["p"] == 1
        all_is_well(world)


async def test_a_planned_node_that_the_scheduler_did_not_look_at_is_hinted() -> None:
    """Its sample is the first node; on the second one, two GPUs are taken, which makes it the better place."""
    async with world_of(nodes_of(2)) as world:
        world.add(gated("fills", gpus=2, cpus=6, nodeSelector={"kubernetes.io/hostname": "n2"}))
        world.change_node("n2", lambda node: node["metadata"]["labels"].update({"kubernetes.io/hostname": "n2"}))
        async with scheduled(world, sample=1) as scheduler:
            await world.until_bound("fills")
            world.add(open_pod("p", gpus=2, cpus=6))
            await world.until_bound("p")
            assert world.pod("p")["spec"]["nodeName"] == "n2"
            assert scheduler.asked[-1] == ("p", ["n2"])
            assert scheduler.attempts["p"] <= 3


async def test_a_pod_without_a_place_is_told_so_in_words_that_do_not_move_and_gets_the_first_that_is_free() -> None:
    async with world_of(nodes_of(2)) as world, scheduled(world) as scheduler:
        world.add(*(open_pod(f"old{i}") for i in range(8)))
        await world.until_bound(*(f"old{i}" for i in range(8)))
        on_first = [f"old{i}" for i in range(8) if world.pod(f"old{i}")["spec"]["nodeName"] == "n1"]
        world.uses("n1", *on_first)
        world.add(open_pod("p"))
        await world.until_refused("p", code="GPUS_SHORT: no place on 2 nodes")
        await world.until(lambda: scheduler.said.get("p") == f"2 {refused_text(Code.GPUS_SHORT)}")
        assert not any(one.isdigit() for one in refused_text(Code.GPUS_SHORT))
        await world.quiet()
        world.remove(on_first[0])
        world.uses("n1", *on_first[1:])
        await world.until_bound("p")
        await world.until(lambda: not world.refusal("p"))
        all_is_well(world)


async def test_a_herd_of_refused_pods_costs_no_plan() -> None:
    async with world_of(nodes_of()) as world:
        at = door()
        world.start(settings=ASKED, door=at)
        async with asking(world, at) as scheduler:
            world.add(*(open_pod(f"old{i}") for i in range(4)), *(open_pod(f"p{i}", priority=-1) for i in range(20)))
            await world.until_refused(*(f"p{i}" for i in range(20)))
            await world.quiet()
            before, asked = world.asked("PATCH"), len(scheduler.asked)
            world.change_node("n1", lambda node: node["metadata"].update(annotations={"touched": "yes"}))
            await world.until(lambda: len(scheduler.asked) >= asked + 20)
            await world.quiet()
            assert world.asked("PATCH") == before


async def test_a_pod_that_asks_what_nobody_can_give_is_refused_and_told() -> None:
    async with world_of(nodes_of()) as world, scheduled(world) as scheduler:
        world.add(open_pod("p", annotations={"cpuset-scheduler": "yes"}))
        await world.until_refused("p", code="SPEC_INVALID: Pod ns/p: annotation cpuset-scheduler")
        assert scheduler.said["p"] == f"1 {refused_text(Code.SPEC_INVALID)}"
        await world.until(lambda: len(world.events("NumaRefused")) == 1)


async def test_a_pod_that_waited_says_so_no_more_once_it_is_bound() -> None:
    """It has a place in the very moment the scheduler asks, so no hint says it before."""
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    async with world_of(nodes_of()) as world, scheduled(world):
        world.change_node("n1", lambda node: node["spec"].update(taints=[taint]))
        world.add(open_pod("p"))
        await world.until_refused("p", code="NODE_RULE")
        world.change_node("n1", lambda node: node["spec"].update(taints=[]))
        await world.until_bound("p")
        await world.until(lambda: not world.refusal("p"))


# --- plans that fail


async def test_a_node_that_the_schedulers_own_rules_refuse_is_replaced_while_it_asks() -> None:
    async with world_of(nodes_of(3)) as world, scheduled(world, takes=all_but("n1")) as scheduler:
        world.add(gated("p"))
        await world.until_bound("p")
        assert world.pod("p")["spec"]["nodeName"] in ("n2", "n3")
        assert scheduler.attempts["p"] == 1
        assert not world.events("NumaStuck")


async def test_a_scheduler_that_hears_late_what_came_free_costs_a_moment() -> None:
    """It refuses the only node once; the node is not left alone for as long as one that is refused again and again."""
    attempts: list[str] = []

    def takes(_: Pod, node: str) -> bool:
        attempts.append(node)
        return len(attempts) > 1

    async with world_of(nodes_of()) as world:
        at = door()
        world.start(replace(QUICK, aside_s=3600.0), ASKED, door=at)
        async with asking(world, at, takes=takes):
            world.add(gated("p"))
            await world.until_bound("p")
            all_is_well(world)


async def test_a_plan_that_fails_without_a_question_is_made_anew_elsewhere() -> None:
    """Only one node is left by rules that we do not know, and it is not the first choice."""
    async with world_of(nodes_of(4)) as world:
        limits = replace(QUICK, aside_s=60.0)
        at = door()
        world.start(limits, ASKED, door=at)
        async with asking(world, at, takes=all_but("n1", "n2"), sample=0) as scheduler:
            world.add(gated("p"))
            await world.until_bound("p")
            assert world.pod("p")["spec"]["nodeName"] in ("n3", "n4")
            assert scheduler.attempts["p"] <= 6


async def test_a_pod_that_is_bound_right_after_a_failure_keeps_what_it_has() -> None:
    """The watch tells of both at once."""
    async with world_of(nodes_of()) as world:
        world.start(settings=ASKED)
        world.add(gated("p"))
        await world.until(lambda: not world.pod("p")["spec"].get("schedulingGates"))
        await world.quiet()

        def failed(pod: Pod) -> None:
            pod["status"].pop("nominatedNodeName")
            pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]

        world.change("p", failed)
        world.bind("p", "n1")
        world.add(*(gated(f"q{i}") for i in range(4)))
        await world.until(lambda: sum(bool(allocation_of(pod)) for pod in world.pods) == 4)
        await world.quiet()
        assert sum(bool(world.refusal(f"q{i}")) for i in range(4)) == 1
        all_is_well(world)


async def test_a_pod_that_no_node_takes_is_no_hot_loop() -> None:
    async with world_of(nodes_of(9)) as world:
        limits = replace(QUICK, aside_s=0.05)
        at = door()
        world.start(limits, ASKED, door=at)
        async with asking(world, at, takes=lambda *_: False) as scheduler:
            world.add(gated("p"))
            await world.until(lambda: scheduler.attempts["p"] >= 4)
            await world.quiet()
            assert scheduler.attempts["p"] < 20
            assert not pin_of(world.pod("p"))
            scheduler.takes = lambda *_: True
            await world.until_bound("p")


async def test_a_node_that_goes_takes_its_plan_along() -> None:
    async with world_of(nodes_of()) as world:
        at = door()
        world.start(settings=ASKED, door=at)
        async with asking(world, at, takes=lambda *_: False):
            world.add(gated("p"))
            await world.until(lambda: not world.pod("p")["spec"].get("schedulingGates"))
            world.server.store.remove(NODES, Key("", "n1"))
        world.add_nodes(nodes_of(name="m#"))
        async with asking(world, at):
            await world.until_bound("p")
            assert world.pod("p")["spec"]["nodeName"] == "m1"
            all_is_well(world)


async def test_a_pod_that_asks_something_else_on_its_way_gets_that() -> None:
    async with world_of(nodes_of()) as world:
        at = door()
        world.start(settings=ASKED, door=at)
        world.add(gated("p", gpus=2, cpus=4))
        await world.until(lambda: not world.pod("p")["spec"].get("schedulingGates"))
        world.change("p", lambda pod: pod["metadata"]["annotations"].update({keys.CPU_RULE: "spread"}))
        await world.until(lambda: allocation_of(world.pod("p"))["containers"]["main"]["cpus"] == "0-3")
        async with asking(world, at):
            await world.until_bound("p")
            assert allocation_of(world.pod("p"))["containers"]["main"]["cpus"] == "0-3"


# --- bindings


EFFECTS: dict[str, Effect] = {
    "lost answer": LoseAnswer(),
    "conflict": Answer(409, "Conflict"),
    "broken": Answer(500, "InternalError"),
    "busy": Answer(429, "TooManyRequests"),
    "denied": Answer(403, "Forbidden"),
}


@pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS)
@pytest.mark.parametrize("times", [1, 3])
async def test_a_binding_that_fails_is_made_good(effect: Effect, times: int) -> None:
    async with world_of(nodes_of(2)) as world:
        world.server.fail(effect, "POST", "/binding", times)
        async with scheduled(world):
            world.add(*(gated(name) for name in NAMES[:3]), *(open_pod(name) for name in NAMES[3:]))
            await world.until_bound(*NAMES)
            all_is_well(world)


async def test_a_binding_that_was_made_is_made_once_however_often_it_is_asked() -> None:
    async with world_of(nodes_of(2)) as world, scheduled(world) as scheduler:
        world.add(gated("p"))
        await world.until_bound("p")
        pod = world.pod("p")
        assert await scheduler.ask("bind", binding(pod, "n1")) == {"Error": ""}
        assert "already assigned" in (await scheduler.ask("bind", binding(pod, "n2")))["Error"]
        pod["metadata"]["uid"] = "another"
        assert "is not known" in (await scheduler.ask("bind", binding(pod, "n1")))["Error"]


async def test_a_pod_that_is_bound_keeps_its_cards_whatever_is_asked_of_it() -> None:
    async with world_of(nodes_of(2)) as world, scheduled(world) as scheduler:
        world.add(gated("p"))
        await world.until_bound("p")
        await world.quiet()  # by now the planner has heard of it
        other = "n2" if world.pod("p")["spec"]["nodeName"] == "n1" else "n1"
        assert "already assigned" in (await scheduler.ask("bind", binding(world.pod("p"), other)))["Error"]
        world.add(*(gated(f"q{i}") for i in range(8)))
        await world.until(lambda: sum(bool(pod["spec"].get("nodeName")) for pod in world.pods) == 8)
        await world.quiet()
        assert sum(bool(world.refusal(f"q{i}")) for i in range(8)) == 1
        all_is_well(world)


async def test_a_scheduler_that_insists_on_a_node_gets_a_place_there_or_a_sentence() -> None:
    async with world_of(nodes_of(2)) as world, scheduled(world, idle=True) as scheduler:
        world.add(open_pod("p", gpus=2, cpus=4), open_pod("q", gpus=2, cpus=20))
        await world.until(lambda: bool(world.pod("p")["status"].get("nominatedNodeName")))
        await world.until_refused("q", code="CPUS_SHORT")
        assert await scheduler.ask("bind", binding(world.pod("p"), "n2")) == {"Error": ""}
        assert allocation_of(world.pod("p"))["node"] == "n2"
        said = (await scheduler.ask("bind", binding(world.pod("q"), "n2")))["Error"]
        assert said.startswith("numaplace: CPUS_SHORT: needs 2 GPUs")
        all_is_well(world)


# --- after a death


@pytest.mark.parametrize("point", ["hint", "gate", "binding"])
@pytest.mark.parametrize("seen", [0, 1, 3, 5])
async def test_a_planner_that_dies_is_followed_by_one_that_goes_on(point: str, seen: int) -> None:
    points: dict[str, Callable[[Pod], object]] = {
        "hint": allocation_of,
        "gate": lambda pod: not pod["spec"].get("schedulingGates"),
        "binding": lambda pod: pod["spec"].get("nodeName"),
    }
    reached = points[point]
    async with world_of(nodes_of(2)) as world:
        at = door()
        first = world.start(settings=ASKED, door=at)
        async with asking(world, at):
            world.add(*(gated(name) for name in NAMES))
            await world.until(lambda: sum(bool(reached(pod)) for pod in world.pods) >= seen)
            await world.kill(first)
            world.add(open_pod("late"))
            world.start(settings=ASKED, door=at)
            await world.until_bound(*NAMES, "late")
            all_is_well(world)


async def test_a_plan_of_a_pod_on_its_way_is_kept_to_the_letter() -> None:
    async with world_of(nodes_of(2)) as world:
        promised = one_gpu("0000:02:00.0", "3,11", node="n2")
        topology = nodes_of()[0].topology
        assert topology is not None
        promised["containers"]["main"]["gpus"] = [{"pci": topology.gpus[1].pci}]
        world.add_on_its_way("p", promised)
        async with scheduled(world):
            await world.until_bound("p")
            assert allocation_of(world.pod("p")) == promised


async def test_of_two_with_one_promise_the_younger_is_planned_again_and_nobody_goes() -> None:
    async with world_of(nodes_of(2)) as world:
        topology = nodes_of()[0].topology
        assert topology is not None
        for name in ("a", "b"):
            world.add_on_its_way(name, one_gpu(topology.gpus[0].pci))
            world.change(name, owned)
        async with scheduled(world):
            await world.until_bound("a", "b")
            all_is_well(world)
            assert not world.events("NumaCorrected")


# --- what is no matter of ours


async def test_pods_of_others_pass_whether_the_watch_has_told_of_them_or_not() -> None:
    async with world_of(nodes_of(2)) as world, scheduled(world) as scheduler:
        world.add(gated("plain", gpus=0, annotations={}, gates=()))
        meta = {"name": "new", "namespace": "ns", "uid": "new"}
        unknown = {"metadata": meta, "spec": {"containers": [{"name": "c"}]}}
        names = ["n1", "n2", "no such node"]
        for pod in (world.pod("plain"), unknown):
            assert await scheduler.ask("filter", question(pod, *names)) == {"NodeNames": names}
            assert await scheduler.ask("prioritize", question(pod, *names)) == []
        victims = {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "v"}], "NumPDBViolations": 0}}}
        assert await scheduler.ask("preempt", {"Pod": unknown, **victims}) == victims
        world.add(gated("p"))
        await world.until_bound("p")
        assert await scheduler.ask("bind", binding(world.pod("plain"), "n1")) == {"Error": ""}
        assert keys.ALLOCATION not in world.pod("plain")["metadata"]["annotations"]


async def test_nobody_is_evicted_for_a_pod_of_ours() -> None:
    async with world_of(nodes_of(2)) as world, scheduled(world, takes=lambda *_: False) as scheduler:
        world.add(open_pod("p"))
        await world.until(lambda: bool(scheduler.attempts["p"]))
        victims = {"n1": {"Pods": [{"UID": "v"}]}}
        answer = await scheduler.ask("preempt", {"Pod": world.pod("p"), "NodeNameToMetaVictims": victims})
        assert answer == {"NodeNameToMetaVictims": {}}


async def test_a_pod_with_cards_of_a_scheduler_we_were_not_told_of_is_an_error_that_names_the_option() -> None:
    async with world_of(nodes_of(2)) as world, scheduled(world) as scheduler:
        world.add(open_pod("p", schedulerName="another"))
        answer = await scheduler.ask("filter", question(world.pod("p"), "n1"))
        assert answer["Error"].endswith("was told to answer (default-scheduler): see --extender-for")


async def test_the_planned_node_is_the_best_and_others_are_refused_in_one_constant_text() -> None:
    names = ("n1", "n2", "n3")
    async with world_of(nodes_of(3)) as world, scheduled(world, idle=True) as scheduler:
        world.add(open_pod("p"))
        await world.until(lambda: bool(world.pod("p")["status"].get("nominatedNodeName")))
        asked = question({**world.pod("p"), "status": {}}, *names)
        answer = await scheduler.ask("filter", asked)
        (planned,) = answer["NodeNames"]
        assert answer["FailedAndUnresolvableNodes"] == {name: ELSEWHERE for name in names if name != planned}
        assert await scheduler.ask("prioritize", asked) == [{"Host": planned, "Score": 10}]

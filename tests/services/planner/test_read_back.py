"""What a planner finds when it starts, or when others act: promises read back, clashes, lost ways."""

import json
from typing import Any

import pytest

from numaplace.adapters.kube.fake import Answer
from numaplace.model import keys
from tests.services.planner.reader import allocation_of, double_grants, misplaced, pin_of
from tests.services.planner.world import gated, nodes_of, world_of


def one_gpu(pci: str = "0000:01:00.0", cpus: str = "0,8", node: str = "n1") -> dict[str, Any]:
    """An allocation of one GPU and a core, as an earlier planner wrote it."""
    share = {"cpus": cpus, "gpus": [{"pci": pci}]}
    return {
        "v": 1,
        "node": node,
        "numas": [0],
        "policy": "SingleNUMANode",
        "reached": {"width": 1},
        "containers": {"main": share},
    }


@pytest.fixture
def gpus() -> list[str]:
    """The addresses of the GPUs of a node, the first two in its first NUMA node."""
    topology = nodes_of()[0].topology
    assert topology is not None
    return [gpu.pci for gpu in topology.gpus]


def unschedulable(pod: dict[str, Any]) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod["status"]["conditions"] = [condition]


def owned(pod: dict[str, Any]) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]


# --- promises


async def test_a_promise_that_is_good_is_kept_to_the_letter(gpus: list[str]) -> None:
    async with world_of(nodes_of()) as world:
        promised = one_gpu(gpus[1], "3,11")
        world.add_on_its_way("p", promised, gates=True)
        world.start()
        await world.until_bound("p")
        assert allocation_of(world.pod("p")) == promised
        assert world.asked("PATCH") == 1  # the gate; the hint was there


async def test_a_promise_on_a_node_that_is_closed_by_now_is_replaced(gpus: list[str]) -> None:
    async with world_of(nodes_of(2)) as world:
        world.change_node("n1", lambda node: node["spec"].update(unschedulable=True))
        world.add_on_its_way("p", one_gpu(gpus[0]), gates=True)
        world.start()
        await world.until_bound("p")
        assert world.pod("p")["spec"]["nodeName"] == "n2"


async def test_an_annotation_without_a_hint_promises_nothing(gpus: list[str]) -> None:
    async with world_of(nodes_of()) as world:
        world.add_on_its_way("p", one_gpu(gpus[3], "3,11"), gates=True)
        world.change("p", lambda pod: pod["status"].pop("nominatedNodeName"))
        world.start()
        await world.until_bound("p")
        assert allocation_of(world.pod("p"))["containers"]["main"]["gpus"] != [{"pci": gpus[3]}]


@pytest.mark.parametrize("text", ["", "no JSON", "{}", '{"v": 99}', "[" * 5000])
async def test_an_annotation_that_cannot_be_read_promises_nothing(gpus: list[str], text: str) -> None:
    async with world_of(nodes_of()) as world:
        world.add_on_its_way("p", one_gpu(gpus[0]), gates=True)
        world.change("p", lambda pod: pod["metadata"]["annotations"].update({keys.ALLOCATION: text}))
        world.start()
        await world.until_bound("p")
        assert misplaced(world.pods) == []


# --- clashes


async def test_of_two_equal_promises_the_older_is_kept(gpus: list[str]) -> None:
    async with world_of(nodes_of()) as world:
        world.add_on_its_way("a", one_gpu(gpus[0]), gates=True)
        world.add_on_its_way("b", one_gpu(gpus[0]), gates=True)
        world.start()
        await world.until_bound("a", "b")
        assert allocation_of(world.pod("a")) == one_gpu(gpus[0])
        assert double_grants(world.pods) == []


async def test_a_pod_on_its_way_with_what_another_has_gets_something_else_on_its_node(gpus: list[str]) -> None:
    async with world_of(nodes_of(2), scheduling=False) as world:
        world.add_on_its_way("a", one_gpu(gpus[0]), pin="n1")
        world.bind("a", "n1")
        world.add_on_its_way("b", one_gpu(gpus[0]), pin="n1")
        world.start()
        await world.until(lambda: not double_grants(world.pods))
        assert allocation_of(world.pod("a")) == one_gpu(gpus[0])
        assert allocation_of(world.pod("b"))["node"] == "n1"
        await world.until(lambda: len(world.events("NumaCorrected")) == 1)


async def test_two_bound_pods_with_the_same_devices_are_told_apart(gpus: list[str]) -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        for name in ("a", "b"):
            world.add_on_its_way(name, one_gpu(gpus[0]), pin="n1")
            world.bind(name, "n1")
        world.start()
        await world.until(lambda: not double_grants(world.pods))
        assert allocation_of(world.pod("a")) == one_gpu(gpus[0])


async def test_an_owned_pod_that_clashes_and_finds_no_room_is_evicted(gpus: list[str]) -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        for number, pci in enumerate((*gpus, gpus[0])):
            world.add_on_its_way(f"p{number}", one_gpu(pci, f"{number},{number + 8}"), pin="n1")
            world.change(f"p{number}", owned)
        world.start()
        await world.until(lambda: not any(pod["metadata"]["name"] == "p4" for pod in world.pods))
        assert len(world.pods) == 4
        await world.until(lambda: len(world.events("NumaStuck")) == 1)


async def test_a_pod_kept_to_another_node_than_its_allocation_is_of_gets_one_of_its_node(gpus: list[str]) -> None:
    async with world_of(nodes_of(2), scheduling=False) as world:
        world.add_on_its_way("p", one_gpu(gpus[0], node="n1"), pin="n2")
        world.start()
        await world.until(lambda: allocation_of(world.pod("p"))["node"] == "n2")


async def test_a_pod_that_only_its_node_still_knows_keeps_what_it_uses(gpus: list[str]) -> None:
    """It was forced out of the API server while no planner ran."""
    async with world_of(nodes_of()) as world:
        uses = {"ghost": {"cpus": "0-3,8-11", "gpus": gpus[:2]}}

        def write(report: dict[str, Any]) -> None:
            report["attributes"].append({"name": keys.IN_USE, "value": json.dumps(uses)})

        world.change_report("n1", write)
        world.start()
        world.add(gated("p", gpus=2, cpus=4), gated("q", gpus=2, cpus=4))
        await world.until_bound("p")
        await world.until_refused("q", code="GPUS_SHORT")
        assert {gpu["pci"] for gpu in allocation_of(world.pod("p"))["containers"]["main"]["gpus"]} == {*gpus[2:]}
        world.uses("n1", "p")
        await world.until_bound("q")


# --- lost ways


async def test_a_pod_that_was_bound_elsewhere_floats_there_and_is_told() -> None:
    async with world_of(nodes_of(2), scheduling=False) as world:
        first = world.start()
        world.add(gated("p", gpus=2, cpus=6))
        await world.until(lambda: bool(pin_of(world.pod("p"))))
        world.bind("p", "n2")
        await world.until(lambda: len(world.events("NumaStrayed")) == 1)
        await world.kill(first)
        world.start()
        world.add(gated("q", gpus=2, cpus=6), gated("r", gpus=2, cpus=6), gated("s", gpus=2, cpus=6))
        world.scheduling = True
        await world.until(lambda: all(pin_of(world.pod(name)) for name in "qrs"))
        pins = sorted(pin_of(world.pod(name)) for name in "qrs")
        assert pins == ["n1", "n1", "n2"]  # the cards of the stray Pod are nobody else's
        assert len(world.events("NumaStrayed")) == 1


async def test_an_owned_pod_whose_node_the_scheduler_refuses_is_evicted() -> None:
    async with world_of(nodes_of(2), scheduling=False) as world:
        world.start()
        pod = gated("p")
        owned(pod)
        world.add(pod)
        await world.until(lambda: pin_of(world.pod("p")) == "n1")
        world.change("p", unschedulable)
        await world.until(lambda: not world.pods)
        world.scheduling = True
        world.add(gated("p"))  # what its owner makes
        await world.until_bound("p")
        assert world.pod("p")["spec"]["nodeName"] == "n2"  # not the node where it failed


async def test_a_pod_that_is_bound_before_it_can_be_evicted_stays() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.start()
        pod = gated("p")
        owned(pod)
        world.add(pod)
        await world.until(lambda: pin_of(world.pod("p")) == "n1")
        world.server.fail(Answer(503), "POST", "/eviction", 10_000)
        world.change("p", unschedulable)
        await world.until(lambda: world.asked("POST", "/eviction") > 1)
        world.bind("p", "n1")
        await world.quiet()
        world.server.faults.clear()
        await world.quiet()
        assert world.pod("p")["spec"]["nodeName"] == "n1"


async def test_a_bare_pod_whose_node_the_scheduler_refuses_is_reported_once() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.start()
        world.add(gated("p"))
        await world.until(lambda: bool(pin_of(world.pod("p"))))
        world.change("p", unschedulable)
        await world.until(lambda: len(world.events("NumaStuck")) == 1)
        await world.quiet()
        assert len(world.events("NumaStuck")) == 1
        assert pin_of(world.pod("p")) == "n1"


async def test_pods_like_one_that_failed_are_told_that_its_node_is_left_alone() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.start()
        world.add(gated("p"))
        await world.until(lambda: bool(pin_of(world.pod("p"))))
        world.change("p", unschedulable)
        await world.until(lambda: len(world.events("NumaStuck")) == 1)
        world.add(gated("q"))
        await world.until_refused("q", code="HELD_BACK: node n1 would do, but a plan for a Pod like this failed there")
        world.scheduling = True
        await world.until_bound("q")


async def test_a_pod_that_an_administrator_let_go_is_nobodys_business() -> None:
    async with world_of(nodes_of(labels={})) as world:
        world.add(gated("p"))
        world.start()
        await world.until_refused("p")
        world.change("p", lambda pod: pod["spec"].pop("schedulingGates"))
        await world.quiet()
        world.change_node("n1", lambda node: node["metadata"]["labels"].update({"ack.node.gpu.schedule": "topology"}))
        await world.quiet()
        assert not pin_of(world.pod("p"))


async def test_edits_after_binding_change_nothing_in_the_book() -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(*(gated(f"p{i}") for i in range(4)))
        await world.until_bound(*(f"p{i}" for i in range(4)))
        forged = one_gpu("0000:ff:00.0", "")
        world.change("p0", lambda pod: pod["metadata"]["annotations"].update({keys.ALLOCATION: json.dumps(forged)}))
        world.add(gated("late"))
        await world.until_refused("late", code="GPUS_SHORT")

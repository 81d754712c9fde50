"""A report that takes back what was promised: nobody is let go with a card that is not there."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from numaplace.adapters.kube.fake import Answer, HoldAnswer
from numaplace.model.cluster import NodeState
from numaplace.model.topology import Topology
from tests.cluster.nodes import report_object
from tests.services.planner.asking import door
from tests.services.planner.extender.test_answers import ASKED
from tests.services.planner.reader import allocation_of, pin_of
from tests.services.planner.test_read_back import gpus, one_gpu
from tests.services.planner.world import World, gated, nodes_of, world_of

__all__ = ["gpus"]
GIVEN = "3,11"


def _known(node: NodeState) -> Topology:
    assert node.topology is not None
    return node.topology


def _without_cards(node: NodeState, pcis: list[str]) -> NodeState:
    known = _known(node)
    return replace(node, topology=replace(known, gpus=tuple(one for one in known.gpus if one.pci not in pcis)))


def _with_broken_cards(node: NodeState, pcis: list[str]) -> NodeState:
    known = _known(node)
    cards = tuple(replace(one, fault="fell off the bus") if one.pci in pcis else one for one in known.gpus)
    return replace(node, topology=replace(known, gpus=cards))


def _with_reserved_cpus(node: NodeState, pcis: list[str]) -> NodeState:
    known = _known(node)
    return replace(node, reserved=known.online if len(pcis) > 1 else known.online.parse(GIVEN))


Loss = Callable[[NodeState, list[str]], NodeState]
LOSSES: dict[str, Loss] = {
    "cards are gone": _without_cards,
    "cards are broken": _with_broken_cards,
    "CPUs are reserved": _with_reserved_cpus,
}


def report(world: World, node: NodeState) -> None:
    """The agent of the node writes its report anew."""
    text: Any = report_object(node, "uid")["attributes"]
    world.change_report(node.name, lambda known: known.update(attributes=text))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
async def test_a_pod_whose_promise_the_report_takes_back_before_it_is_let_go_is_planned_again(
    loss: Loss, gpus: list[str]
) -> None:
    first, second = nodes_of(2)
    async with world_of([first]) as world:
        world.server.fail(Answer(503), "PATCH", "/pods/p", 1000)
        world.add(gated("p"))
        world.start()
        await world.until(lambda: world.asked("PATCH", "/pods/p") > 0)
        report(world, loss(first, gpus))
        world.add_nodes([second])
        world.add(gated("witness"))
        await world.until(lambda: pin_of(world.pod("witness")) == "n2")  # so the planner knows what n1 has lost
        world.server.faults.clear()
        await world.until_bound("p")
        assert world.pod("p")["spec"]["nodeName"] == "n2"


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
async def test_a_promise_of_what_the_node_has_no_more_is_not_read_back(loss: Loss, gpus: list[str]) -> None:
    async with world_of(nodes_of()) as world:
        report(world, loss(nodes_of()[0], gpus[1:2]))
        world.add_on_its_way("p", one_gpu(gpus[1], GIVEN), gates=True)
        world.start()
        await world.until_bound("p")
        share = allocation_of(world.pod("p"))["containers"]["main"]
        if loss is _with_reserved_cpus:
            assert share["cpus"] != GIVEN
        else:
            assert share["gpus"][0]["pci"] != gpus[1]


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
async def test_a_pod_that_cannot_leave_its_node_gets_something_else_there(loss: Loss) -> None:
    node = nodes_of()[0]
    async with world_of([node], scheduling=False) as world:
        world.add(gated("p"))
        world.start()
        await world.until(lambda: bool(pin_of(world.pod("p"))))
        before = allocation_of(world.pod("p"))["containers"]["main"]
        lost = node.topology.online.parse(before["cpus"]) if node.topology else None
        assert lost is not None
        if loss is _with_reserved_cpus:
            report(world, replace(node, reserved=lost))
        else:
            report(world, loss(node, [before["gpus"][0]["pci"]]))
        await world.until(lambda: allocation_of(world.pod("p"))["containers"]["main"] != before)
        after = allocation_of(world.pod("p"))["containers"]["main"]
        await world.until(lambda: bool(world.events("NumaCorrected")))
    if loss is _with_reserved_cpus:
        assert not set(lost) & set(lost.parse(after["cpus"]))
    else:
        assert after["gpus"][0]["pci"] != before["gpus"][0]["pci"]


@pytest.mark.parametrize("loss", [_without_cards, _with_broken_cards])
async def test_a_pod_whose_scheduler_asks_gets_another_hint(loss: Loss) -> None:
    node = nodes_of()[0]
    async with world_of([node], scheduling=False) as world:
        world.add(gated("p"))
        world.start(settings=ASKED, door=door())
        await world.until(lambda: not world.pod("p")["spec"].get("schedulingGates"))
        lost = allocation_of(world.pod("p"))["containers"]["main"]["gpus"][0]["pci"]
        report(world, loss(node, [lost]))
        await world.until(lambda: allocation_of(world.pod("p"))["containers"]["main"]["gpus"][0]["pci"] != lost)


async def test_a_pod_that_loses_its_card_while_the_answer_to_its_last_write_is_on_its_way_waits_again() -> None:
    nodes = nodes_of()
    async with world_of(nodes, scheduling=False) as world:
        (hint := HoldAnswer()).until.set()
        world.server.fail(hint, "PATCH", "/p/status", 1)
        world.server.fail(ungate := HoldAnswer(), "PATCH", "/pods/p", 1)
        world.start(settings=ASKED)
        world.add(gated("p", gpus=1, cpus=6))
        await world.until(lambda: not world.pod("p")["spec"].get("schedulingGates"))
        lost = allocation_of(world.pod("p"))["containers"]["main"]["gpus"][0]["pci"]
        report(world, _without_cards(nodes[0], [lost]))
        names = ("a", "b")
        world.add(*(gated(name, gpus=1, cpus=6) for name in names))
        await world.until(lambda: all(allocation_of(world.pod(name)) for name in names))  # the place of p was free
        ungate.until.set()
        await world.until_refused("p")

"""What a scheduler that asks wants of the book: one place for each Pod, whoever of the two hears first."""

from dataclasses import replace

import pytest

from numaplace.model import keys
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod
from numaplace.model.settings import Settings
from tests.objects import OURS, admitted, container
from tests.properties.pods import renamed
from tests.services.planner.town import Town

ASKS = replace(
    renamed(admitted(container(limits={"cpu": 1, "aliyun.com/gpu": 1}), annotations=OURS), "p"), uid=PodUid("p")
)


def town_with(pod: LivePod) -> Town:
    town = Town([{}, {}], Settings(), [ASKS], [ASKS])
    town.keeper.see_pod(pod)
    while town.planner.step():
        pass
    return town


def nodes_of(town: Town, uid: PodUid) -> list[NodeName]:
    """In whose books the Pod stands."""
    return [name for name, node in town.keeper.state.nodes.items() if uid in node.holders]


@pytest.mark.parametrize("gates", [(keys.PLAN_GATE,), ()], ids=["our watch is behind", "we know that it is on its way"])
def test_a_pod_whose_node_the_scheduler_refuses_holds_nothing_there_any_more(gates: tuple[str, ...]) -> None:
    pod = LivePod(ASKS.uid, ASKS.namespace, ASKS.name, ASKS, asked=True, gates=gates)
    town = town_with(pod)
    (planned,) = nodes_of(town, pod.uid)
    (other,) = town.keeper.state.nodes.keys() - {planned}
    place = town.places.failed(pod, planned, [other])
    assert place is not None
    assert nodes_of(town, pod.uid) == [place.node] == [other]


def test_a_pod_whose_node_is_refused_while_no_other_is_left_holds_nothing_and_leaves_the_node_alone() -> None:
    pod = LivePod(ASKS.uid, ASKS.namespace, ASKS.name, ASKS, asked=True, gates=(keys.PLAN_GATE,))
    town = town_with(pod)
    (planned,) = nodes_of(town, pod.uid)
    assert town.places.failed(pod, planned, []) is None
    assert nodes_of(town, pod.uid) == []
    while town.planner.step():
        pass
    assert nodes_of(town, pod.uid) == list(town.keeper.state.nodes.keys() - {planned})


def test_a_pod_with_a_pin_whose_node_is_refused_is_given_up_and_promised_nothing_else() -> None:
    pod = LivePod(ASKS.uid, ASKS.namespace, ASKS.name, ASKS, asked=True, pinned_at_gate=True, gates=(keys.PLAN_GATE,))
    town = town_with(pod)
    (planned,) = nodes_of(town, pod.uid)
    assert town.places.failed(pod, planned, []) is None
    assert town.hands.given_up == [pod.uid]
    assert nodes_of(town, pod.uid) == [planned]


def test_a_pod_that_the_scheduler_puts_on_another_node_moves_its_promise_there() -> None:
    pod = LivePod(ASKS.uid, ASKS.namespace, ASKS.name, ASKS, asked=True)
    town = town_with(pod)
    (planned,) = nodes_of(town, pod.uid)
    (other,) = town.keeper.state.nodes.keys() - {planned}
    town.places.move(pod, other)
    assert nodes_of(town, pod.uid) == [other]

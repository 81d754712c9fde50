"""What reports say about Pods that end, and what silence says about reports."""

from dataclasses import replace

import pytest

from numaplace.decide.place import NodeIndex, place_on
from numaplace.decide.track import (
    Event,
    NodeSeen,
    NodeSilent,
    PodEnded,
    PodGranted,
    ReportArrived,
    TimePassed,
    reduce,
    steadied,
)
from numaplace.model.cluster import ClusterState, NodeState, Phase
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Code, Refusal
from numaplace.model.rules import Amounts, NodeRules
from numaplace.model.settings import Settings
from tests.oracle.described import Shape
from tests.oracle.pods import NODE, ask, holder, node_of
from tests.properties.books import Scene

UID = PodUid("p")


def after(node: NodeState, *events: Event) -> NodeState:
    state = ClusterState({node.name: node})
    for event in events:
        answer = reduce(state, event)
        assert isinstance(answer, ClusterState), answer
        state = answer
    return state.nodes[node.name]


@pytest.fixture
def node() -> NodeState:
    return Scene(Shape()).node()


def granted() -> Event:
    held = holder("p", [0], cpus="0-1")
    assert held.allocation is not None
    return PodGranted(held.request, held.allocation)


def lists(node: NodeState, *uids: PodUid) -> Event:
    assert node.topology is not None
    return ReportArrived(NODE, node.topology, in_use=frozenset(uids))


def test_a_pod_that_ends_after_the_agent_said_goodbye_is_released_at_once(node: NodeState) -> None:
    assert after(node, granted(), lists(node, UID), lists(node), PodEnded(UID, NODE, 5.0)).holders == {}


def test_a_pod_that_the_agent_has_never_named_keeps_its_devices_for_the_grace(node: NodeState) -> None:
    ended = after(node, granted(), lists(node), PodEnded(UID, NODE, 5.0))
    assert ended.holders[UID].phase is Phase.RELEASING
    assert after(ended, TimePassed(64.9, 60.0)).holders.keys() == {UID}
    assert after(ended, TimePassed(65.0, 60.0)).holders == {}


def test_a_pod_that_was_in_use_before_it_was_known_counts_as_named(node: NodeState) -> None:
    """After a restart the reports are read before the Pods."""
    assert after(node, lists(node, UID), granted()).holders[UID].named


def test_a_pod_that_ended_and_is_still_listed_keeps_its_devices_beyond_the_grace(node: NodeState) -> None:
    ended = after(node, granted(), lists(node, UID), PodEnded(UID, NODE, 5.0), TimePassed(1000.0, 60.0))
    assert ended.holders[UID].phase is Phase.RELEASING
    assert after(ended, lists(node)).holders == {}


def runs(node: NodeState, uid: PodUid, cpus: str) -> Event:
    """The agent reports a Pod that runs, and what it owns."""
    held = holder(uid, [0], cpus=cpus).allocation
    assert node.topology is not None
    assert held is not None
    return ReportArrived(NODE, node.topology, in_use=frozenset({uid}), found={uid: held})


def test_what_a_pod_uses_that_only_its_node_knows_is_nobody_elses(node: NodeState) -> None:
    found = after(node, runs(node, PodUid("ghost"), "0-1"))
    assert found.holders[PodUid("ghost")].phase is Phase.FOUND
    refused = reduce(ClusterState({NODE: found}), granted())
    assert isinstance(refused, Refusal)
    assert "CPUs 0, 1" in refused.sentence
    assert after(found, lists(node), granted()).holders.keys() == {UID}


def test_a_pod_that_was_found_is_booked_as_itself_when_it_is_told_of(node: NodeState) -> None:
    found = after(node, runs(node, UID, "0-1"))
    known = after(found, granted())
    assert known.holders[UID].phase is Phase.GRANTED
    assert after(known, runs(node, UID, "0-1")).holders == known.holders


def test_what_a_report_said_outlives_a_change_of_the_nodes_labels(node: NodeState) -> None:
    seen = after(node, lists(node, UID), NodeSilent(NODE), NodeSeen(NODE, replace(node.rules, labels={"a": "b"})))
    assert (seen.in_use, seen.stale) == (frozenset({UID}), True)


def test_a_silent_agents_node_takes_nobody_until_it_reports(node: NodeState) -> None:
    silent, request = after(node, NodeSilent(NODE)), ask(uid="new", cpus=1)
    answer = place_on(silent, request)
    assert isinstance(answer, Refusal)
    assert answer.code is Code.STALE_TOPOLOGY
    assert not isinstance(place_on(after(silent, lists(node)), request), Refusal)


def test_many_nodes_say_the_same_of_silence_as_one(node: NodeState) -> None:
    request = ask(uid="new", cpus=1)
    index = NodeIndex(ClusterState({NODE: node}))
    assert index.best(request) is not None
    index.update(after(node, NodeSilent(NODE)))
    assert index.best(request) is None
    assert index.why_not(request).code is Code.STALE_TOPOLOGY
    index.update(node)
    assert index.best(request) is not None


def test_silence_of_a_node_that_is_not_known_is_nothing() -> None:
    assert reduce(ClusterState(), NodeSilent(NodeName("x"))) == ClusterState()


def rules(**others: int) -> NodeRules:
    return NodeRules(NODE, allocatable=Amounts(8000, 2**30, {name.replace("_", "/"): n for name, n in others.items()}))


@pytest.mark.parametrize(
    ("before", "now", "counted"),
    [
        ({"aliyun.com_gpu": 8}, {"aliyun.com_gpu": 0}, {"aliyun.com/gpu": 8}),  # a kubelet starts
        ({"aliyun.com_gpu": 8}, {}, {"aliyun.com/gpu": 8}),
        ({"aliyun.com_gpu": 8}, {"aliyun.com_gpu": 7}, {"aliyun.com/gpu": 7}),  # a card is lost
        ({}, {"aliyun.com_gpu": 0}, {"aliyun.com/gpu": 0}),
        ({"nvidia.com_gpu": 8}, {"nvidia.com_gpu": 0}, {"nvidia.com/gpu": 0}),  # not ours to know better
    ],
)
def test_our_resources_do_not_blink(before: dict[str, int], now: dict[str, int], counted: dict[str, int]) -> None:
    steady = steadied(rules(**before), None, Settings())
    found = steadied(rules(**now), steady, Settings()).allocatable
    assert found is not None
    assert found.others == counted


def test_a_node_that_does_not_tell_amounts_is_taken_as_it_is() -> None:
    silent = NodeRules(NODE)
    assert steadied(silent, rules(), Settings()) is silent
    assert node_of(Shape()).rules.name == NODE

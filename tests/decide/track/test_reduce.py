"""What each event does to the book of a cluster."""

from dataclasses import replace

import pytest

from numaplace.decide.place import Placement, place_on
from numaplace.decide.track import (
    Event,
    NodeGone,
    NodeSeen,
    PodBound,
    PodEnded,
    PodGranted,
    PodHeld,
    PodReleased,
    ReportArrived,
    TimePassed,
    reduce,
    violations,
)
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState, NodeState, Phase
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import ContainerName, NodeName, PodUid
from numaplace.model.keys import ALIGN_LEVEL
from numaplace.model.layout import AlignLevel
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import ContainerKind, ContainerRequest, CpuMode, PodRequest, Policy
from numaplace.model.rules import NodeRules
from numaplace.wire.machine import machine

A, B = NodeName("a"), NodeName("b")
MACHINE = machine("2pkg 32cpu 4gpu pix")


def pod(name: str, gpus: int = 2) -> PodRequest:
    return PodRequest(
        uid=PodUid(name),
        namespace="default",
        name=name,
        containers=(ContainerRequest(ContainerName("main"), ContainerKind.APP, 4, gpus),),
        policy=Policy.SINGLE_NUMA_NODE,
        cpu_mode=CpuMode.EXCLUSIVE,
        cpus=4,
        gpus=gpus,
    )


def after(*events: Event) -> ClusterState:
    """The state after events, none of which may be refused."""
    state = ClusterState()
    for event in events:
        new = reduce(state, event)
        assert isinstance(new, ClusterState), new.sentence
        state = new
    assert [text for node in state.nodes.values() for text in violations(node)] == []
    return state


REPORTED = (NodeSeen(A, NodeRules(A)), ReportArrived(A, MACHINE))


def place(request: PodRequest, state: ClusterState) -> Allocation:
    answer = place_on(state.nodes[A], request)
    assert isinstance(answer, Placement)
    return answer.allocation


def phase(state: ClusterState, name: str) -> Phase | None:
    holder = state.nodes[A].holders.get(PodUid(name))
    return holder.phase if holder else None


def free_gpus(node: NodeState) -> int:
    """How many Pods of one GPU still find a place."""
    count = 0
    while isinstance(answer := place_on(node, pod(f"probe-{count}", gpus=1)), Placement):
        state = reduce(ClusterState({node.name: node}), PodHeld(pod(f"probe-{count}", gpus=1), answer.allocation))
        assert isinstance(state, ClusterState)
        node, count = state.nodes[node.name], count + 1
    return count


def test_a_hold_becomes_a_grant_and_a_grant_waits_to_be_given_back() -> None:
    state = after(*REPORTED)
    allocation = place(pod("p"), state)
    held = after(*REPORTED, PodHeld(pod("p"), allocation))
    granted = after(*REPORTED, PodHeld(pod("p"), allocation), PodGranted(pod("p"), allocation))
    ended = after(*REPORTED, PodGranted(pod("p"), allocation), PodEnded(PodUid("p"), A, at_s=5))
    assert [phase(one, "p") for one in (held, granted, ended)] == [Phase.HELD, Phase.GRANTED, Phase.RELEASING]
    assert [free_gpus(one.nodes[A]) for one in (state, held, granted, ended)] == [4, 2, 2, 2]


@pytest.mark.parametrize(
    ("event", "released"),
    [
        (ReportArrived(A, MACHINE, in_use=frozenset()), True),
        (ReportArrived(A, MACHINE, in_use=frozenset({PodUid("p")})), False),
        (ReportArrived(A, MACHINE, in_use=None), False),
        (TimePassed(now_s=64, grace_s=60), False),
        (TimePassed(now_s=65, grace_s=60), True),
        (PodReleased(PodUid("p"), A), True),
        (PodEnded(PodUid("p"), A, at_s=60), False),
        (NodeSeen(A, NodeRules(A)), False),
    ],
)
def test_what_an_ended_pod_held_is_free_when_the_node_says_so_or_after_a_grace(event: Event, released: bool) -> None:
    allocation = place(pod("p"), after(*REPORTED))
    state = after(*REPORTED, PodGranted(pod("p"), allocation), PodEnded(PodUid("p"), A, at_s=5), event)
    assert (phase(state, "p") is None) is released


def test_an_ended_pod_ends_once() -> None:
    allocation = place(pod("p"), after(*REPORTED))
    twice = (PodEnded(PodUid("p"), A, at_s=5), PodEnded(PodUid("p"), A, at_s=50), TimePassed(now_s=65, grace_s=60))
    assert phase(after(*REPORTED, PodGranted(pod("p"), allocation), *twice), "p") is None


def test_what_somebody_owns_is_not_promised_again() -> None:
    state = after(*REPORTED)
    allocation = place(pod("first"), state)
    taken = after(*REPORTED, PodGranted(pod("first"), allocation))
    refusal = reduce(taken, PodHeld(pod("second"), allocation))
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.CPUS_SHORT
    assert refusal.sentence == "CPUs 0, 1, 16, 17 of node a already belong to Pod default/first"


def test_a_better_plan_for_the_same_pod_takes_the_place_of_the_first() -> None:
    allocation = place(pod("p"), after(*REPORTED))
    state = after(*REPORTED, PodHeld(pod("p"), allocation), PodHeld(pod("p"), allocation))
    assert list(state.nodes[A].holders) == [PodUid("p")]


def test_a_pod_that_runs_without_an_allocation_blocks_as_many_cards_as_it_holds() -> None:
    state = after(*REPORTED, PodBound(pod("old", gpus=3), A))
    assert free_gpus(state.nodes[A]) == 1


@pytest.mark.parametrize(
    "event",
    [
        PodEnded(PodUid("p"), B, at_s=1),
        PodReleased(PodUid("p"), B),
        PodBound(pod("p"), B),
        NodeGone(B),
        PodEnded(PodUid("nobody"), A, at_s=1),
        PodReleased(PodUid("nobody"), A),
    ],
)
def test_news_of_unknown_nodes_and_pods_changes_nothing(event: Event) -> None:
    assert after(*REPORTED, event) == after(*REPORTED)


def test_a_report_may_come_before_its_node_and_keeps_who_is_there() -> None:
    early = after(ReportArrived(A, MACHINE), NodeSeen(A, NodeRules(A)))
    assert early == after(*REPORTED)
    allocation = place(pod("p"), early)
    state = after(*REPORTED, PodGranted(pod("p"), allocation), ReportArrived(A, MACHINE, CpuSet.parse("15")))
    assert phase(state, "p") is Phase.GRANTED
    assert state.nodes[A].reserved == CpuSet.parse("15")


def test_the_align_level_follows_the_label() -> None:
    rules = NodeRules(A, {ALIGN_LEVEL: "package"})
    layout = after(*REPORTED, NodeSeen(A, rules)).nodes[A].layout
    assert layout is not None
    assert layout.align is AlignLevel.PACKAGE


def test_a_machine_that_lost_a_card_still_books_it_and_says_so() -> None:
    allocation = place(pod("p"), after(*REPORTED))
    smaller = replace(MACHINE, gpus=MACHINE.gpus[1:])
    state = reduce(after(*REPORTED, PodGranted(pod("p"), allocation)), ReportArrived(A, smaller))
    assert isinstance(state, ClusterState)
    lost = allocation.gpus[0].pci
    assert violations(state.nodes[A]) == [f"Pod default/p owns GPU {lost}, which the node does not have"]


def test_a_node_that_is_gone_takes_its_book_with_it() -> None:
    allocation = place(pod("p"), after(*REPORTED))
    assert after(*REPORTED, PodHeld(pod("p"), allocation), NodeGone(A)) == ClusterState({})

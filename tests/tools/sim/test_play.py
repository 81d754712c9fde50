"""Pods come and go: what happens at one instant, who waits, who goes ahead, who gets what is given back."""

from dataclasses import replace

import pytest

from numaplace.model.cluster import ClusterState
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code
from numaplace.model.settings import Settings
from numaplace.tools.sim.contenders import AGAINST
from numaplace.tools.sim.play import moments
from tests.tools.paper import SMALL, arrivals, places, run, small_cluster

HEAD = "name,arrives_s,leaves_s,gpu,cpu,memory,policy,cpus,priority"


def test_what_leaves_at_an_instant_makes_room_for_what_comes_then() -> None:
    pods = arrivals(HEAD, "first,0,10,4,4,1Gi,BestEffort,shared,0", "second,10,20,4,4,1Gi,BestEffort,shared,0")
    outcome = run(small_cluster(), pods)
    assert places(outcome) == {"first": "n-1", "second": "n-1"}
    assert outcome.left == 2


def test_a_waiting_pod_gets_what_is_given_back_before_a_new_one() -> None:
    pods = arrivals(
        HEAD,
        "holder,0,10,4,4,1Gi,BestEffort,shared,0",
        "waiting,1,,4,4,1Gi,BestEffort,shared,0",
        "late,10,,4,4,1Gi,BestEffort,shared,9",
    )
    outcome = run(small_cluster(), pods)
    assert places(outcome) == {"holder": "n-1", "waiting": "n-1"}
    assert [one.name for one in outcome.unplaced] == ["default/late"]
    assert [one.at_s for one in outcome.landings] == [0, 10]


def test_those_who_wait_are_served_by_priority_then_name() -> None:
    pods = arrivals(
        HEAD,
        "holder,0,10,4,4,1Gi,BestEffort,shared,0",
        "b,1,,4,4,1Gi,BestEffort,shared,0",
        "a,2,,4,4,1Gi,BestEffort,shared,0",
        "urgent,3,,4,4,1Gi,BestEffort,shared,5",
    )
    assert list(places(run(small_cluster(), pods))) == ["holder", "urgent"]


def test_a_pod_that_runs_already_holds_its_place_before_any_other_is_decided() -> None:
    waiting, running = arrivals(HEAD, "a,0,,4,4,1Gi,BestEffort,shared,9", "b,0,,4,4,1Gi,BestEffort,shared,0")
    bound = replace(running, pod=replace(running.pod, node_name=NodeName("n-1")))
    outcome = run(small_cluster(), (waiting, bound))
    assert list(places(outcome)) == ["b"]
    assert [one.name for one in outcome.unplaced] == ["default/a"]


def test_a_small_pod_goes_ahead_of_a_large_one_that_waits() -> None:
    pods = arrivals(
        HEAD,
        "holder,0,,2,2,1Gi,SingleNUMANode,shared,0",
        "large,1,,4,4,1Gi,BestEffort,shared,0",
        "small,2,,2,2,1Gi,SingleNUMANode,shared,0",
    )
    assert list(places(run(small_cluster(), pods))) == ["holder", "small"]


def test_a_pod_that_waits_past_its_end_never_runs() -> None:
    pods = arrivals(HEAD, "holder,0,50,4,4,1Gi,BestEffort,shared,0", "waiting,1,20,4,4,1Gi,BestEffort,shared,0")
    outcome = run(small_cluster(), pods)
    assert list(places(outcome)) == ["holder"]
    assert [one.refusal.code for one in outcome.unplaced] == [Code.GPUS_SHORT]


def test_a_pod_without_duration_is_not_there_at_all() -> None:
    pods = arrivals(HEAD, "blink,5,5,1,1,1Gi,BestEffort,shared,0", "real,5,6,1,1,1Gi,BestEffort,shared,0")
    assert [one.request.name for moment in moments(pods) for one in moment.arriving] == ["real"]


def test_at_one_instant_pods_are_decided_in_the_planners_order() -> None:
    pods = arrivals(HEAD, "b,0,,4,4,1Gi,,,0", "a,0,,4,4,1Gi,,,0", "c,0,,4,4,1Gi,,,7")
    assert list(places(run(small_cluster(3), pods))) == ["c", "a", "b"]


@pytest.mark.parametrize("name", ["numaplace", *AGAINST])
def test_every_way_of_placing_gives_back_all_that_it_took(name: str) -> None:
    rows = [f"p{i},{i},{i + 7},{1 + i % 2},{1 + i % 5},1Gi,Restricted,exclusive,0" for i in range(40)]
    outcome = run(small_cluster(2), arrivals(HEAD, *rows), name)
    assert outcome.left == len(outcome.landings) > 0
    assert [node.holders for node in outcome.state.nodes.values()] == [{}, {}]


@pytest.mark.parametrize("name", ["numaplace", *AGAINST])
def test_equal_input_gives_equal_outcomes(name: str) -> None:
    rows = [f"p{i},{i},,{1 + i % 3},{1 + i % 5},1Gi,BestEffort,exclusive,0" for i in range(20)]
    first, second = (run(small_cluster(3), arrivals(HEAD, *rows), name) for _ in range(2))
    assert first.landings == second.landings


@pytest.mark.parametrize("name", ["numaplace", *AGAINST])
def test_nothing_is_ever_given_twice(name: str) -> None:
    rows = [f"p{i},{i},,{1 + i % 3},{1 + i % 4},1Gi,BestEffort,exclusive,0" for i in range(30)]
    state = run(small_cluster(2, SMALL), arrivals(HEAD, *rows), name).state
    _assert_disjoint(state)


def _assert_disjoint(state: ClusterState) -> None:
    for node in state.nodes.values():
        held = [holder.allocation for holder in node.holders.values() if holder.allocation is not None]
        cpus = [cpu for one in held for cpu in one.cpus]
        gpus = [gpu.pci for one in held for gpu in one.gpus]
        assert len(cpus) == len(set(cpus))
        assert len(gpus) == len(set(gpus))


def test_a_node_held_back_goes_to_the_large_pod_that_waited_longest() -> None:
    pods = arrivals(
        HEAD,
        "runs,0,10,4,4,1Gi,BestEffort,shared,0",
        "short,0,5,4,4,1Gi,BestEffort,shared,0",
        "large,1,30,8,8,1Gi,BestEffort,shared,0",
        "small,2,,4,4,1Gi,BestEffort,shared,0",
    )
    state = small_cluster(machine="2pkg 32cpu 64GiB 8gpu pix")
    assert places(run(state, pods)) == {"runs": "n-1", "short": "n-1", "small": "n-1"}
    held = run(state, pods, settings=Settings(holds_node_back=True))
    assert [(one.request.name, one.at_s) for one in held.landings][2:] == [("large", 10), ("small", 30)]

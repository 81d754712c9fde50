"""The keeper's book depends on what there is in the cluster, not on the order in which it was told."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.place import NodeIndex
from numaplace.decide.track import violations
from numaplace.model import keys
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.request import PodRequest
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.news import Arrived, Broken, Resumes, Strayed, Waits
from numaplace.wire import allocation as allocation_wire
from numaplace.wire.live_pod import live_pod_of
from numaplace.wire.nodes import NodeObject, ReportObject, node_of
from numaplace.wire.pod_object import PodObject
from tests.cluster.nodes import node_object, report_object
from tests.properties.effort import examples
from tests.services.planner.test_read_back import one_gpu
from tests.services.planner.town import STEPS, Step, Town, towns
from tests.services.planner.world import SETTINGS, gated, nodes_of, pin_term

NODES = nodes_of(2)
GPUS = [gpu.pci for gpu in NODES[0].topology.gpus] if NODES[0].topology else []
Tell = tuple[str, Any]


def pod(name: str, allocation: dict[str, Any] | None = None, *, status: Any = None, **spec: Any) -> Tell:
    thing = gated(name, **{"gates": (), **spec})
    thing["metadata"]["uid"] = name
    thing["status"] = status or {}
    if allocation is not None:
        thing["metadata"]["annotations"] = {
            **thing["metadata"]["annotations"],
            keys.ALLOCATION: msgspec.json.encode(allocation).decode(),
        }
    return "pod", msgspec.convert(thing, PodObject)


CLUSTER: list[Tell] = [
    *(("node", msgspec.convert(node_object(node), NodeObject)) for node in NODES),
    *(("report", msgspec.convert(report_object(node, "uid"), ReportObject)) for node in NODES),
    pod("bound", one_gpu(GPUS[0], "0,8"), nodeName="n1"),
    pod("floats", gpus=0, annotations={}, nodeName="n1"),
    pod("on-its-way", one_gpu(GPUS[1], "1,9"), affinity={
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pin_term("n1")]}}
    }),
    pod("elsewhere", one_gpu(GPUS[0], "0,8", node="n2"), nodeName="n2"),
    pod("ended", one_gpu(GPUS[2], "4,12"), nodeName="n1", status={"phase": "Succeeded"}),
    pod("waits", gates=(keys.PLAN_GATE,)),
]  # fmt: skip


def keeper_told(things: Iterable[Tell], opened_after: int) -> Keeper:
    keeper = Keeper(SETTINGS, Limits(), clock=lambda: 0.0, wall=lambda: 0.0)
    for number, (kind, thing) in enumerate(things):
        if number == opened_after:
            keeper.open()
        if kind == "node":
            keeper.nodes.see(node_of(thing, "node"))
        elif kind == "report":
            keeper.nodes.see_report(NodeName(thing.metadata.name), thing)
        else:
            keeper.see_pod(live_pod_of(thing, SETTINGS))
    if not keeper.is_open:
        keeper.open()
    keeper.refresh()
    return keeper


def book(keeper: Keeper) -> dict[str, str]:
    return {
        f"{name} {holder.request.name}": f"{holder.phase} {holder.allocation}"
        for name, node in keeper.state.nodes.items()
        for holder in node.holders.values()
    }


WHOLE = keeper_told(CLUSTER, len(CLUSTER))


def test_everyone_is_where_the_cluster_says() -> None:
    assert {who: what.split()[0] for who, what in book(WHOLE).items()} == {
        "n1 bound": "granted",
        "n1 floats": "granted",
        "n1 on-its-way": "held",
        "n2 elsewhere": "granted",
    }
    assert [text for node in WHOLE.state.nodes.values() for text in violations(node)] == []
    assert {type(news) for news in WHOLE.news()} >= {Waits}


@given(order=st.permutations(CLUSTER), opened_after=st.integers(0, len(CLUSTER)))
def test_the_order_of_telling_does_not_matter(order: list[Tell], opened_after: int) -> None:
    keeper = keeper_told(order, opened_after)
    assert book(keeper) == book(WHOLE)
    assert keeper.index.nodes == keeper.state.nodes


@given(st.lists(st.sampled_from(CLUSTER), max_size=12))
def test_what_is_told_twice_changes_nothing(again: list[Tell]) -> None:
    assert book(keeper_told([*CLUSTER, *again], len(CLUSTER))) == book(WHOLE)


@given(towns(), STEPS)
@settings(max_examples=examples(60), deadline=None)
def test_what_is_kept_up_to_date_answers_as_what_is_made_anew(town: Town, steps: list[Step]) -> None:
    for step in steps:
        town.happens(step)
        index, anew = town.keeper.refresh(), NodeIndex(town.keeper.state, town.settings)
        holders = [uid for node in anew.nodes.values() for uid in node.holders]
        assert len(holders) == len(set(holders))  # nobody stands in two books
        assert index.nodes.keys() == anew.nodes.keys()
        assert index.company.repels is anew.company.repels
        for request in town.kinds:
            around, again = index.company.around(request), anew.company.around(request)
            assert (around is None) is (again is None)
            for rules in (node.rules for node in anew.nodes.values()):
                assert (around and around.refuse(rules)) == (again and again.refuse(rules))
            assert index.best(request) == anew.best(request)


def test_a_node_that_goes_and_comes_back_has_its_pods_again() -> None:
    keeper = keeper_told(CLUSTER, len(CLUSTER))
    keeper.nodes.lose(NodeName("n1"))
    assert {who.split()[0] for who in book(keeper)} == {"n2"}
    assert NodeName("n1") not in keeper.refresh().nodes
    keeper.nodes.see(node_of(CLUSTER[0][1], "node"))
    assert book(keeper) == book(WHOLE)
    assert keeper.refresh().nodes == keeper.state.nodes


STRAYED = pod("strayed", one_gpu(GPUS[0], "0,8", node="n2"), nodeName="n1")
WAITED = {"type": keys.PLANNED, "status": "True", "reason": "Placed"}
ARRIVED = pod("arrived", nodeName="n1", status={"conditions": [WAITED]})
SAYS_IT_WAITS = pod("refused", nodeName="n1", status={"conditions": [{**WAITED, "status": "False"}]})


def arrivals(keeper: Keeper) -> list[tuple[str, str]]:
    """What people are to be told of Pods that are bound."""
    return [(type(news).__name__, news.pod.name) for news in keeper.news() if isinstance(news, Arrived | Strayed)]


def test_a_pod_is_said_to_be_bound_once() -> None:
    keeper = keeper_told(CLUSTER, len(CLUSTER))
    arrivals(keeper)
    bound = [live_pod_of(thing, SETTINGS) for _, thing in (ARRIVED, STRAYED)]
    for one in bound:
        keeper.see_pod(one)
    assert arrivals(keeper) == [("Arrived", "arrived"), ("Arrived", "strayed"), ("Strayed", "strayed")]
    for one in bound:
        keeper.see_pod(one)
    keeper.nodes.lose(NodeName("n1"))
    keeper.nodes.see(node_of(CLUSTER[0][1], "node"))
    keeper.nodes.lose_report(NodeName("n1"))
    keeper.close()
    keeper.open()
    assert arrivals(keeper) == []


def test_only_who_still_says_that_it_waits_is_said_to_be_bound_at_a_start() -> None:
    things = [*CLUSTER, ARRIVED, STRAYED, SAYS_IT_WAITS]
    assert arrivals(keeper_told(things, len(things))) == [("Arrived", "refused")]


def test_a_pod_whose_annotation_is_older_than_its_promise_has_not_strayed() -> None:
    things = [*CLUSTER, pod("moved", one_gpu(GPUS[3], "5,13", node="n2"), gates=(keys.PLAN_GATE,))]
    keeper = keeper_told(things, len(things))
    asks = keeper.pods[PodUid("moved")].asks
    assert isinstance(asks, PodRequest)
    assert keeper.hold(asks, allocation_wire.decode(json.dumps(one_gpu(GPUS[3], "5,13")), "promise")) is None
    arrivals(keeper)
    keeper.see_pod(replace(keeper.pods[PodUid("moved")], gates=(), node=NodeName("n1")))
    assert arrivals(keeper) == [("Arrived", "moved")]


def test_nodes_that_go_together_are_gone_from_the_index_with_the_next_look() -> None:
    keeper = keeper_told(CLUSTER, len(CLUSTER))
    for name in ("n1", "n2"):
        keeper.nodes.lose(NodeName(name))
    assert keeper.refresh().nodes == {}
    keeper.nodes.see(node_of(CLUSTER[0][1], "node"))
    assert keeper.refresh().nodes == keeper.state.nodes


def test_pods_that_go_leave_no_trace() -> None:
    keeper = keeper_told(CLUSTER, 0)
    for uid in ("floats", "on-its-way", "waits"):
        keeper.lose_pod(PodUid(uid))
    assert {who.split()[1] for who in book(keeper)} == {"bound", "elsewhere"}


@pytest.mark.parametrize(("hint", "restored"), [("n1", Resumes), ("n2", Waits), (None, Waits)])
def test_a_promise_is_read_back_when_the_hint_says_the_same(hint: str | None, restored: type) -> None:
    status = {} if hint is None else {"nominatedNodeName": hint}
    promised = pod("p", one_gpu(GPUS[3], "5,13"), gates=(keys.PLAN_GATE,), status=status)
    keeper = keeper_told([*CLUSTER, promised], len(CLUSTER) + 1)
    assert [type(news) for news in keeper.news() if isinstance(news, Resumes | Waits) and news.pod.name == "p"] == [
        restored
    ]


def test_of_two_who_claim_the_same_the_one_that_is_bound_keeps_it() -> None:
    pinned = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pin_term("n1")]}}
    }
    older = pod("a-rival", one_gpu(GPUS[0], "2,10"), affinity=pinned)
    keeper = keeper_told([*CLUSTER, older], len(CLUSTER) + 1)
    assert book(keeper) == book(WHOLE)
    (broken,) = [news for news in keeper.news() if isinstance(news, Broken)]
    assert broken.pod.name == "a-rival"
    assert f"GPUs {GPUS[0]} of node n1 already belong to Pod ns/bound" in broken.why.sentence


def test_a_pod_that_ended_long_ago_takes_nothing_back() -> None:
    """Its object may stay for days, and change, while others have its devices."""
    now = [0.0]
    keeper = Keeper(SETTINGS, Limits(), clock=lambda: now[0], wall=lambda: 0.0)
    silent = msgspec.convert(report_object(NODES[0], "uid"), ReportObject)
    silent.attributes = [one for one in silent.attributes or () if one.name != keys.IN_USE]
    keeper.nodes.see(node_of(CLUSTER[0][1], "node"))
    keeper.nodes.see_report(NodeName("n1"), silent)
    keeper.open()
    (_, runs), (_, ended) = (
        pod("a", one_gpu(GPUS[0]), nodeName="n1", status={"phase": phase}) for phase in ("Running", "Succeeded")
    )
    (_, other) = pod("b", one_gpu(GPUS[0]), nodeName="n1")
    keeper.see_pod(live_pod_of(runs, SETTINGS))
    keeper.see_pod(live_pod_of(ended, SETTINGS))
    assert book(keeper)["n1 a"].startswith("releasing")
    now[0] = SETTINGS.release_grace_s
    keeper.pass_time()
    keeper.see_pod(live_pod_of(other, SETTINGS))
    for _ in range(2):
        keeper.see_pod(live_pod_of(ended, SETTINGS))
    keeper.lose_pod(PodUid("a"))
    assert list(book(keeper)) == ["n1 b"]
    assert not [news for news in keeper.news() if isinstance(news, Broken)]


@pytest.mark.parametrize("in_use", ["ended", "nobody"])
def test_after_a_restart_an_ended_pod_holds_what_its_node_still_lists(in_use: str) -> None:
    report = msgspec.convert(report_object(NODES[0], "uid"), ReportObject)
    for one in report.attributes or ():
        if one.name == keys.IN_USE:
            one.value = msgspec.json.encode({in_use: {}}).decode()
    keeper = keeper_told([*CLUSTER, ("report", report)], len(CLUSTER) + 1)
    assert ("n1 ended" in book(keeper)) is (in_use == "ended")


def test_allocations_are_booked_as_they_are_written() -> None:
    holder = WHOLE.holder(PodUid("bound"))
    assert holder is not None
    assert holder.allocation is not None
    assert msgspec.json.decode(allocation_wire.encode(holder.allocation)) == one_gpu(GPUS[0], "0,8")

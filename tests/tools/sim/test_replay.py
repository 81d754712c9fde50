"""A replay takes back what numaplace gave, decides in the order of its decisions, and names what differs."""

import json
from dataclasses import replace
from typing import Any

from numaplace.model import keys
from numaplace.model.ids import NodeName
from numaplace.model.settings import Settings
from numaplace.tools.report.outcome import Outcome, Replayed
from numaplace.tools.sim.arrivals import intake_of
from numaplace.tools.sim.contenders import contender
from numaplace.tools.sim.play import play
from numaplace.tools.sim.replay import replayed, undecided
from numaplace.wire.allocation import encode
from numaplace.wire.pod import decode
from numaplace.wire.trace import TracedPod
from tests.objects import OURS, container, pod_object
from tests.tools.paper import small_cluster

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(name: str, gpus: int = 1, cpus: int = 2, *, at: int = 0, node: str = "", **spec: Any) -> dict[str, Any]:
    limits = {"cpu": str(cpus), **({"aliyun.com/gpu": str(gpus)} if gpus else {})}
    made = pod_object(container(limits=limits), annotations=OURS, name=name, **spec)
    made["metadata"]["creationTimestamp"] = f"2026-03-02T10:00:{at:02}Z"
    made["metadata"]["uid"] = name
    if node:
        made["spec"]["nodeName"] = node
    return made


def played(*pods: dict[str, Any]) -> Outcome:
    times = [(decode(one, "pod"), float(number), None) for number, one in enumerate(pods)]
    return play(intake_of(times, Settings()).arrivals, contender("numaplace", small_cluster(2), Settings(), seed=0))


def captured(given: Outcome, planned_s: dict[str, float | None], *pods: dict[str, Any]) -> list[TracedPod]:
    """The Pods as a cluster shows them once they are bound: with node, allocation and pin."""
    places = {one.request.name: one.allocation for one in given.landings}
    for one in pods:
        name = one["metadata"]["name"]
        allocation = places.get(name)
        if allocation is None:
            continue
        dated = replace(allocation, planned_s=planned_s.get(name))
        one["metadata"]["annotations"][keys.ALLOCATION] = encode(dated)
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [allocation.node]}]}
        one["spec"] |= {
            "nodeName": allocation.node,
            "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}},
        }
    return [TracedPod(decode(json.loads(json.dumps(one)), "pod"), 0.0, None) for one in pods]


def again(pods: list[TracedPod]) -> Replayed:
    before, recorded = undecided(pods)
    intake = intake_of(((one.pod, one.arrives_s, one.leaves_s) for one in before), Settings())
    return replayed(play(intake.arrivals, contender("numaplace", small_cluster(2), Settings(), seed=0)), recorded)


def test_the_order_of_decisions_counts_and_not_that_of_creation() -> None:
    small, big = pod("small", gpus=1, at=1), pod("big", gpus=2, cpus=12, at=2)
    given = played(big, small)  # big was decided first, though small is older
    assert again(captured(given, {"big": 100.5, "small": 100.6}, small, big)) == Replayed(2)


def test_without_the_times_of_decisions_creation_counts_and_what_differs_is_named() -> None:
    small, big = pod("small", gpus=1, at=1), pod("big", gpus=2, cpus=12, at=2)
    given = played(big, small)
    found = again(captured(given, {}, small, big))
    assert found == Replayed(2, ("ns/big", "ns/small"))
    assert found.sentence == "0 of 2 Pods as recorded; not so: ns/big, ns/small"


def test_the_pin_of_a_plan_is_taken_back_and_the_pods_own_affinity_is_not() -> None:
    pods, recorded = undecided(captured(played(pod("p")), {"p": 1.0}, pod("p")))
    assert pods[0].pod.rules.required_terms is None
    assert keys.ALLOCATION not in pods[0].pod.annotations
    assert [*recorded] == ["p"]


def test_pods_that_others_placed_stay_and_pods_that_wait_come_last() -> None:
    plain = pod("plain", gpus=0, cpus=20, node="n-1", at=30)
    plain["metadata"]["annotations"] = {}
    waits, placed = pod("waits", gpus=2, at=0), pod("placed", gpus=2, at=10)
    given = played(placed)
    before, recorded = undecided(captured(given, {}, waits, plain, placed))
    assert [one.pod.name for one in sorted(before, key=lambda one: one.arrives_s)] == ["placed", "plain", "waits"]
    assert {one.pod.name: one.pod.node_name for one in before} == {"waits": None, "plain": "n-1", "placed": None}
    assert len(recorded) == 1


def test_a_pod_that_strayed_or_ended_is_nothing_that_was_recorded() -> None:
    stray, over = pod("stray"), pod("over")
    pods = captured(played(stray, over), {}, stray, over)
    strayed = replace(pods[0], pod=replace(pods[0].pod, node_name=NodeName("n-2")))
    ended = replace(pods[1], pod=replace(pods[1].pod, ended=True))
    before, recorded = undecided([strayed, ended])
    assert recorded == {}
    assert [one.pod.node_name for one in before] == ["n-2", "n-1"]


def test_many_that_differ_are_counted() -> None:
    many = Replayed(1_234, tuple(f"ns/p{i}" for i in range(7)))
    assert many.sentence == "1,227 of 1,234 Pods as recorded; not so: ns/p0, ns/p1, ns/p2, ns/p3, ns/p4 and 2 more"

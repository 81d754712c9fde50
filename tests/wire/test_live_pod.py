"""Pods of a running cluster: how far they are, and the patches that bring them on."""

import json
from typing import Any

import msgspec
import pytest

from numaplace.decide.admit import check
from numaplace.model import keys
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.model.live_pod import LivePod, Stage, unpinned
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.wire import allocation as allocation_wire
from numaplace.wire import live_pod as wire
from numaplace.wire.pod import pod_of
from numaplace.wire.pod_object import PodObject
from tests.objects import OURS, container, pod_object

N1 = NodeName("n1")
ALLOCATION = (
    '{"v":1,"node":"n1","numas":[0],"policy":"SingleNUMANode","reached":{"width":1},'
    '"containers":{"main":{"cpus":"0-1"}}}'
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GATE, OTHER = {"name": keys.PLAN_GATE}, {"name": "kueue.x-k8s.io/admission"}
PIN = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
ZONE = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def live(*, allocation: str = "", status: dict[str, Any] | None = None, deleting: bool = False, **spec: Any) -> LivePod:
    thing = pod_object(container(limits={"cpu": "2"}), annotations=OURS, **spec)
    if allocation:
        thing["metadata"]["annotations"][keys.ALLOCATION] = allocation
    if deleting:
        thing["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    thing["metadata"]["uid"] = "u1"
    return wire.live_pod_of(msgspec.convert({**thing, "status": status or {}}, PodObject), Settings())


HINT = {"nominatedNodeName": "n1"}


@pytest.mark.parametrize(
    ("parts", "stage"),
    [
        ({}, Stage.FOREIGN),  # never gated
        ({"schedulingGates": [GATE]}, Stage.WAITS),
        ({"schedulingGates": [OTHER, GATE]}, Stage.FOREIGN),
        ({"schedulingGates": [OTHER]}, Stage.FOREIGN),
        ({"schedulingGates": [GATE], "allocation": ALLOCATION, "status": HINT}, Stage.WAITS),
        ({"schedulingGates": [GATE], "deleting": True}, Stage.ENDED),
        ({"allocation": ALLOCATION}, Stage.FOREIGN),  # a copied annotation sends nobody anywhere
        ({"allocation": ALLOCATION, "status": HINT}, Stage.RELEASED),
        ({"allocation": ALLOCATION, "affinity": affinity(PIN)}, Stage.RELEASED),
        ({"affinity": affinity(PIN)}, Stage.FOREIGN),  # of a DaemonSet
        ({"nodeName": "n1"}, Stage.BOUND),
        ({"nodeName": "n1", "deleting": True}, Stage.BOUND),  # its containers still run
        ({"nodeName": "n1", "status": {"phase": "Succeeded"}}, Stage.ENDED),
        ({"schedulingGates": [GATE], "status": {"phase": "Failed"}}, Stage.ENDED),
    ],
)
def test_a_pod_is_as_far_as_it_says(parts: dict[str, Any], stage: Stage) -> None:
    assert live(**parts).stage is stage


@pytest.mark.parametrize("text", ["", "x", "{}", '{"v":2}', "[" * 9000])
def test_an_annotation_that_is_not_ours_is_no_allocation(text: str) -> None:
    assert live(allocation=text or " ").allocation is None


def test_the_scheduler_is_believed_only_after_it_has_tried() -> None:
    def with_reason(reason: str) -> LivePod:
        return live(status={"conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}]})

    assert with_reason("Unschedulable").unschedulable
    assert not with_reason("SchedulingGated").unschedulable
    assert not with_reason("SchedulerError").unschedulable


@pytest.mark.parametrize(
    ("gpus", "scheduler", "asked"), [("1", "asks", True), ("1", "another", False), ("0", "asks", False)]
)
@pytest.mark.parametrize("pins", [True, False])
def test_only_a_pod_with_cards_whose_scheduler_asks_is_asked_about_and_may_get_a_pin_besides(
    gpus: str, scheduler: str, asked: bool, pins: bool
) -> None:
    limits = {"cpu": "2", "aliyun.com/gpu": gpus}
    thing = pod_object(container(limits=limits), annotations=OURS, schedulerName=scheduler)
    pod = wire.live_pod_of(msgspec.convert(thing, PodObject), Settings(extender_for=("asks",), extender_pins=pins))
    assert (pod.asked, pod.pinned_at_gate) == (asked, asked and pins)


def test_a_pod_that_cannot_be_read_is_refused_with_the_field() -> None:
    asks = live(priority=2**40).asks
    assert isinstance(asks, Refusal)
    assert asks.code is Code.SPEC_INVALID
    assert "spec.priority" in asks.sentence


def test_a_pod_that_runs_counts_by_its_amounts_whatever_it_says() -> None:
    thing = pod_object(container(limits={"cpu": "2"}), annotations={"cpuset-scheduler": "yes"}, nodeName="n1")
    asks = wire.live_pod_of(msgspec.convert(thing, PodObject), Settings()).asks
    assert isinstance(asks, PodRequest)
    assert (asks.shared_cpu_milli, asks.is_planned) == (2000, False)


TERM = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}
LIKES: dict[str, dict[str, Any]] = {
    "plain": {},
    "pinned": {"affinity": affinity(PIN)},
    "pinned in every term": {"affinity": affinity({**ZONE, **PIN}, {}, PIN)},
    "kept from a node": {"affinity": affinity({"matchFields": [{**PIN["matchFields"][0], "operator": "NotIn"}]})},
    "two fields": {"affinity": affinity({"matchFields": PIN["matchFields"] * 2})},
    "alone": {"affinity": {"podAntiAffinity": {REQUIRED: [TERM]}}},
    "tolerant": {"tolerations": [{"operator": "Exists"}], "priority": 7, "nodeName": "n1"},
    "with a claim": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
    "with a claim of its own": {"volumes": [{"name": "v", "ephemeral": {}}]},
    "wrong": {"tolerations": [{"operator": "Is"}]},
}


@pytest.mark.parametrize("spec", LIKES.values(), ids=LIKES)
def test_a_pod_like_others_asks_what_it_would_ask_alone(spec: dict[str, Any]) -> None:
    for name, node, created in (("a", "n1", "2026-01-01T00:00:00Z"), ("b", "n2", "2026-02-01T00:00:00Z")):
        thing = pod_object(container(limits={"cpu": "2"}), annotations=OURS, labels={"app": "a"}, name=name, **spec)
        thing["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": created}
        text = json.dumps(thing).replace('"n1"', f'"{node}"')
        pod = msgspec.json.decode(text, type=PodObject)
        try:
            alone: PodRequest | Refusal = check(pod_of(pod, f"Pod ns/{name}"), Settings())
        except InputError as error:
            alone = Refusal(Code.SPEC_INVALID, str(error))
        assert wire.live_pod_of(pod, Settings()).asks == alone


# --- patches


@pytest.mark.parametrize(
    ("own", "patched"),
    [
        (None, [PIN]),
        ([ZONE], [{**ZONE, **PIN}]),
        ([ZONE, {}], [{**ZONE, **PIN}, {}]),
        ([PIN], [PIN]),  # it was kept to that node before
    ],
)
def test_the_pin_is_added_to_every_term_that_can_match(own: Any, patched: Any) -> None:
    pod = live(schedulingGates=[GATE], affinity={} if own is None else affinity(*own))
    assert isinstance(pod.asks, PodRequest)
    change = wire.ungate(pod, pod.asks, allocation_wire.decode(ALLOCATION, "test"))
    assert change["metadata"] == {"uid": "u1", "annotations": {keys.ALLOCATION: ALLOCATION}}
    assert change["spec"] == {
        "schedulingGates": [{"$patch": "delete", "name": keys.PLAN_GATE}],
        "affinity": affinity(*patched),
    }
    released = live(affinity=affinity(*patched), allocation=ALLOCATION)
    assert released.pin == N1
    assert isinstance(released.asks, PodRequest)
    if own != [PIN]:
        assert unpinned(released.asks, N1).rules == pod.asks.rules


def test_the_hint_carries_the_allocation_and_ends_the_condition_of_who_has_one() -> None:
    allocation = allocation_wire.decode(ALLOCATION, "test")
    pod = live(schedulingGates=[GATE])
    change = wire.hint(pod, allocation, "2026-01-01T00:00:00Z")
    assert change == {
        "metadata": {"uid": "u1", "annotations": {keys.ALLOCATION: ALLOCATION}},
        "status": {"nominatedNodeName": "n1"},
    }
    waited = live(
        schedulingGates=[GATE],
        status={"conditions": [{"type": keys.PLANNED, "status": "False", "reason": "GPUS_SHORT"}]},
    )
    assert waited.refused_with == "GPUS_SHORT"
    (condition,) = wire.hint(waited, allocation, "2026-01-01T00:00:00Z")["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (keys.PLANNED, "True", "Placed")


def test_a_refusal_is_a_condition_with_code_and_sentence() -> None:
    change = wire.refused(live(), Refusal(Code.GPUS_SHORT, "needs 4 GPUs"), "2026-01-01T00:00:00Z")
    assert change["status"]["conditions"] == [
        {
            "type": "numaplace.dev/Planned",
            "status": "False",
            "reason": "GPUS_SHORT",
            "message": "needs 4 GPUs",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]

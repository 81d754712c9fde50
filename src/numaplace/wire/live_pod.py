"""A Pod object of a running cluster into a LivePod, and the planner's writes to it as patches.

Both directions stand together because each write is read back: after a lost answer,
and after a restart.
"""

from collections.abc import Mapping
from typing import Any

from numaplace.decide import admit
from numaplace.model import keys
from numaplace.model.allocation import Allocation
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod, pin_to
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeTerm, Requirement
from numaplace.model.settings import Settings
from numaplace.wire import allocation as allocation_wire
from numaplace.wire import pod_object as obj
from numaplace.wire.pod import pod_of
from numaplace.wire.pod_likeness import request_like_others

Change = Mapping[str, Any]  # a strategic merge patch

_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def live_pod_of(pod: obj.PodObject, settings: Settings) -> LivePod:
    """What the planner reads of a Pod; one that cannot be read is refused, not an error."""
    meta, spec, status = pod.metadata, pod.spec, pod.status or obj.PodStatus()
    conditions = {one.type: one for one in status.conditions or ()}
    planned, scheduled = conditions.get(keys.PLANNED), conditions.get("PodScheduled")
    name = f"{meta.namespace}/{meta.name}"
    asks = _asks(pod, name, settings)
    asked = isinstance(asks, PodRequest) and asks.asks_cards and _scheduler(pod) in settings.extender_for
    return LivePod(
        uid=PodUid(meta.uid or name),
        namespace=meta.namespace or "",
        name=meta.name or "",
        asks=asks,
        gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        hint=NodeName(status.nominated_node_name) if status.nominated_node_name else None,
        allocation=allocation_wire.find(meta.annotations or {}),
        node=NodeName(spec.node_name) if spec.node_name else None,
        ended=status.phase in obj.ENDED_PHASES,
        deleting=meta.deletion_timestamp is not None,
        unschedulable=scheduled is not None and (scheduled.status, scheduled.reason) == ("False", "Unschedulable"),
        refused_with=(planned.reason or "") if planned is not None and planned.status == "False" else "",
        has_condition=planned is not None,
        owned=any(one.controller for one in meta.owner_references or ()),
        asked=asked,
        pinned_at_gate=asked and settings.extender_pins,
    )


def _asks(pod: obj.PodObject, name: str, settings: Settings) -> PodRequest | Refusal:
    """The request; a Pod that runs already counts by its amounts, whatever its annotations say."""
    alike = request_like_others(pod, settings)
    if alike is not None:
        return alike
    try:
        read = pod_of(pod, f"Pod {name}")
    except InputError as error:
        return Refusal(Code.SPEC_INVALID, str(error))
    return admit.check(read, settings) if read.node_name is None else admit.check_bound(read, settings)


def _scheduler(pod: obj.PodObject) -> str:
    return pod.spec.scheduler_name or "default-scheduler"


def hint(pod: LivePod, allocation: Allocation, at: str) -> Change:
    """For `status`: where the Pod is to go, what it gets there, and that it waits no more where it said so."""
    change: dict[str, Any] = {"nominatedNodeName": allocation.node}
    if pod.has_condition:
        change["conditions"] = [_placed(allocation.node, at)]
    return {"metadata": {"uid": pod.uid, **_carrying(allocation)}, "status": change}


def ungate(pod: LivePod, request: PodRequest, allocation: Allocation) -> Change:
    """For the Pod: what it gets, our gate is gone, and every term that can match keeps it to the planned node.

    Where the plan stays open until the scheduler asks us, the hint has said it all, and there is no pin.
    """
    if pod.stays_open:
        return lift_gate(pod.uid)
    node = allocation.node
    terms = request.rules.required_terms
    pinned = [_term(one, pin_to(node)) for one in ([NodeTerm(fields=(pin_to(node),))] if terms is None else terms)]
    affinity = {"nodeAffinity": {_AFFINITY: {"nodeSelectorTerms": pinned}}}
    return {
        "metadata": {"uid": pod.uid, **_carrying(allocation)},
        "spec": {**_without_gate(), "affinity": affinity},
    }


def lift_gate(uid: PodUid) -> Change:
    """For the Pod: our gate is gone, and nothing else."""
    return {"metadata": {"uid": uid}, "spec": _without_gate()}


def corrected(pod: LivePod, allocation: Allocation) -> Change:
    """For the Pod: another allocation on the node that it cannot leave any more."""
    return {"metadata": {"uid": pod.uid, **_carrying(allocation)}}


def refused(pod: LivePod, refusal: Refusal, at: str) -> Change:
    """For `status`: why the Pod has no place."""
    condition = _condition("False", refusal.code, refusal.sentence, at)
    return {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}


def placed(pod: LivePod, node: NodeName, at: str) -> Change:
    """For `status`: that a Pod waits no more, where it was bound before a hint could say so."""
    return {"metadata": {"uid": pod.uid}, "status": {"conditions": [_placed(node, at)]}}


def _placed(node: NodeName, at: str) -> dict[str, str]:
    return _condition("True", "Placed", f"placed on node {node}", at)


def _condition(status: str, reason: str, message: str, at: str) -> dict[str, str]:
    return {"type": keys.PLANNED, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def _carrying(allocation: Allocation) -> dict[str, Any]:
    return {"annotations": {keys.ALLOCATION: allocation_wire.encode(allocation)}}


def _without_gate() -> dict[str, Any]:
    return {"schedulingGates": [{"$patch": "delete", "name": keys.PLAN_GATE}]}


def _term(term: NodeTerm, pin: Requirement) -> dict[str, Any]:
    """One term with the pin; an empty one matches nothing, and the API server lets nobody add to it."""
    if not (term.labels or term.fields):
        return {}
    fields = term.fields if pin in term.fields else (*term.fields, pin)
    return {
        name: [_expression(one) for one in listed]
        for name, listed in (("matchExpressions", term.labels), ("matchFields", fields))
        if listed
    }


def _expression(one: Requirement) -> dict[str, Any]:
    return {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}

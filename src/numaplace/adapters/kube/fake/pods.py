"""What the API server makes of writes to Pods: hints, gates, bindings, evictions, ends."""

import copy
from collections.abc import Mapping
from typing import Any

from numaplace.adapters.kube.fake import refusals
from numaplace.adapters.kube.fake.store import Object, Store, check_uid, now
from numaplace.adapters.kube.objects import Key
from numaplace.adapters.kube.resources import PODS

_GRACE_S = 30


def created(pod: Object) -> Object:
    """A new Pod has no status of its own choice."""
    return {**pod, "status": {"phase": "Pending"}}


def changed(kept: Object, pod: Object) -> Object:
    """A write to the Pod itself: the status stays, a gate may go but none may come, the node stays."""
    name = kept["metadata"]["name"]
    before = {gate["name"] for gate in kept["spec"].get("schedulingGates") or ()}
    for gate in pod["spec"].get("schedulingGates") or ():
        if gate["name"] not in before:
            why = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            raise refusals.invalid("Pod", name, f"spec.schedulingGates: Forbidden: {why}")
    if pod["spec"].get("nodeName") != kept["spec"].get("nodeName"):
        raise refusals.invalid("Pod", name, "spec: Forbidden: pod updates may not change fields other than …")
    return {**pod, "status": kept["status"]}


def status_changed(kept: Object, pod: Object) -> Object:
    """A write to the status: labels and annotations may change with it, the rest stays."""
    status = pod.get("status") or {}
    if status.get("nominatedNodeName") and kept["spec"].get("nodeName"):
        why = "may not be set on pods that are already bound to a node"
        raise refusals.invalid("Pod", kept["metadata"]["name"], f"status.nominatedNodeName: Forbidden: {why}")
    return {**kept, "metadata": pod["metadata"], "status": status}


def bound(store: Store, key: Key, binding: Object) -> None:
    """A Binding puts the Pod on its node, once, with the Binding's labels and annotations."""
    pod = store.get(PODS, key)
    said: Mapping[str, Any] = binding.get("metadata") or {}
    check_uid(PODS, pod, said.get("uid"))
    spec = pod["spec"]
    for problem, words in (
        (pod["metadata"].get("deletionTimestamp"), f"pod {key.name} is being deleted, cannot be assigned to a host"),
        (spec.get("nodeName"), f'pod {key.name} is already assigned to node "{spec.get("nodeName")}"'),
        (spec.get("schedulingGates"), f"pod {key.name} has non-empty .spec.schedulingGates"),
    ):
        if problem:
            raise refusals.conflict("pods/binding", key.name, words)
    new = copy.deepcopy(pod)
    new["spec"]["nodeName"] = binding["target"]["name"]
    for field in ("annotations", "labels"):
        if said.get(field):
            new["metadata"][field] = {**(new["metadata"].get(field) or {}), **said[field]}
    new["status"].pop("nominatedNodeName", None)
    others = [one for one in new["status"].get("conditions") or () if one["type"] != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
    new["status"]["conditions"] = [*others, scheduled]
    store.change(PODS, key, new)


def ended(store: Store, key: Key, options: Object) -> Object:
    """A delete: at once for a Pod that is on no node, else when its grace is over, which no kubelet here says."""
    pod = store.get(PODS, key)
    check_uid(PODS, pod, (options.get("preconditions") or {}).get("uid"))
    grace = options.get("gracePeriodSeconds")
    if not pod["spec"].get("nodeName") or grace == 0:
        return store.remove(PODS, key)
    marks = {"deletionTimestamp": now(), "deletionGracePeriodSeconds": _GRACE_S if grace is None else grace}
    return store.change(PODS, key, {**pod, "metadata": {**pod["metadata"], **marks}})

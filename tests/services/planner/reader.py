"""Reads what was given to whom from the API objects alone, without a line of the planner."""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

ALLOCATION = "numaplace.dev/allocation"


def pin_of(pod: dict[str, Any]) -> str:
    """The node that required affinity names, if it names one."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            return str(one["values"][0])
    return ""


def allocation_of(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((pod["metadata"].get("annotations") or {}).get(ALLOCATION, "{}"))
    return found


def things_of(pod: dict[str, Any]) -> set[str]:
    """CPUs and GPUs of the Pod's allocation, by node."""
    allocation = allocation_of(pod)
    node, things = allocation.get("node", ""), set()
    for share in allocation.get("containers", {}).values():
        things |= {f"{node} gpu {gpu['pci']}" for gpu in share.get("gpus", ())}
        things |= {f"{node} cpu {cpu}" for cpu in _numbers(share.get("cpus", ""))}
    return things


def double_grants(pods: Iterable[dict[str, Any]]) -> list[str]:
    """Everything that two Pods without gates, which have not ended and are not ending, both believe to be theirs."""
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for pod in pods:
        ends = pod["status"].get("phase") in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp")
        if pod["spec"].get("schedulingGates") or ends:
            continue
        for thing in things_of(pod):
            owners[thing].append(pod["metadata"]["name"])
    return [f"{thing}: {', '.join(names)}" for thing, names in sorted(owners.items()) if len(names) > 1]


def misplaced(pods: Iterable[dict[str, Any]]) -> list[str]:
    """Bound Pods that stay and whose allocation is of another node, or missing."""
    return [
        pod["metadata"]["name"]
        for pod in pods
        if pod["spec"].get("nodeName")
        and allocation_of(pod).get("node") != pod["spec"]["nodeName"]
        and not pod["metadata"].get("deletionTimestamp")
    ]


def _numbers(ranges: str) -> set[int]:
    found: set[int] = set()
    for part in filter(None, ranges.split(",")):
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found

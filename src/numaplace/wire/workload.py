"""Workloads, and the Pods that their controllers would make of them.

`wire.manifests` reads them; the simulator expands them. Names look like those in a
cluster, but equal input gives equal names.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from numaplace.model.ids import NodeName, PodUid
from numaplace.model.pod import Pod
from numaplace.model.rules import NodeTerm, Operator, Requirement, Toleration

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words (Kubernetes' own choice for generated names)
_SUFFIXES = len(_LETTERS) ** 5
_STEP = 7_654_321  # shares no factor with 27, so every index has a suffix of its own

# What the DaemonSet controller lets its Pods live with (Kubernetes: DaemonSet, taints and tolerations).
_DAEMON_TAINTS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_DAEMON_HOST_TAINTS = (*_DAEMON_TAINTS, ("network-unavailable", "NoSchedule"))


@dataclass(frozen=True, slots=True)
class Workload:
    """A Pod, or a controller with the Pod it makes copies of."""

    kind: str
    template: Pod  # of a controller: named as the controller
    replicas: int = 1  # Pods at one time
    per_node: bool = False  # a DaemonSet: one Pod on each node that it belongs to; `replicas` says nothing
    numbered: bool = False  # Pods are named by rising numbers: a StatefulSet or an indexed Job

    @property
    def full_name(self) -> str:
        """Kind namespace/name, as a person would point at it."""
        return f"{self.kind} {self.template.full_name}"


def expand(workload: Workload, nodes: Iterable[NodeName] = ()) -> tuple[Pod, ...]:
    """The Pods of a workload at one time.

    A DaemonSet's Pods are those for `nodes`, each pinned to its node; which nodes it
    belongs to is for the caller to say (`decide.rules.daemon_belongs`).
    """
    if workload.kind == "Pod":
        return (workload.template,)
    if workload.per_node:
        return tuple(_pinned(workload.template, node) for node in nodes)
    name = workload.template.name
    suffixes = (str(i) if workload.numbered else suffix_of(workload.full_name, i) for i in range(workload.replicas))
    return tuple(_named(workload.template, f"{name}-{suffix}") for suffix in suffixes)


def suffix_of(owner: str, index: int) -> str:
    """Five letters as generated names have them, different for each index of one owner."""
    start = int.from_bytes(hashlib.sha256(owner.encode()).digest()[:8])
    number, letters = (start + index * _STEP) % _SUFFIXES, ""
    for _ in range(5):
        number, letter = divmod(number, len(_LETTERS))
        letters += _LETTERS[letter]
    return letters


def daemon(template: Pod) -> Pod:
    """The template with the tolerations that the DaemonSet controller adds."""
    taints = _DAEMON_HOST_TAINTS if template.host_network else _DAEMON_TAINTS
    more = tuple(Toleration(f"node.kubernetes.io/{name}", "Exists", "", effect) for name, effect in taints)
    return replace(template, rules=replace(template.rules, tolerations=template.rules.tolerations + more))


def _named(template: Pod, name: str) -> Pod:
    return replace(template, name=name, uid=PodUid(f"{template.namespace}/{name}"))


def _pinned(template: Pod, node: NodeName) -> Pod:
    """A DaemonSet's Pod for one node: the controller has judged its affinity and leaves only the node's name."""
    pod = _named(template, f"{template.name}-{node}")
    here = NodeTerm(fields=(Requirement("metadata.name", Operator.IN, (node,)),))
    return replace(pod, rules=replace(pod.rules, required_terms=(here,)))

"""Pods as the simulator meets them: decoded, checked, with the times they come and go.

Manifests all arrive at once and are decided in the planner's order; a trace brings
its own times. DaemonSets become one Pod for each node they belong to.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from numaplace.decide.admit import check, check_bound
from numaplace.decide.rules import daemon_belongs
from numaplace.model.cluster import NodeState
from numaplace.model.pod import Pod
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.report.outcome import Unplaced
from numaplace.wire.workload import Workload, expand


@dataclass(frozen=True, slots=True)
class Arrival:
    """A checked Pod and its times; seconds on the input's own clock."""

    pod: Pod
    request: PodRequest
    at_s: float = 0.0
    leaves_s: float | None = None  # None: it stays


@dataclass(frozen=True, slots=True)
class Intake:
    """What can be placed, and what cannot because the Pod itself is wrong."""

    arrivals: tuple[Arrival, ...]
    invalid: tuple[Unplaced, ...]


def intake_of(pods: Iterable[tuple[Pod, float, float | None]], settings: Settings) -> Intake:
    """Check every Pod with its times of arrival and end; Pods that have ended hold nothing and are passed over."""
    arrivals, invalid = [], []
    for pod, at_s, leaves_s in pods:
        if pod.ended:
            continue
        request = check(pod, settings) if pod.node_name is None else check_bound(pod, settings)
        if isinstance(request, Refusal):
            invalid.append(Unplaced(pod.full_name, pod.owner, request))
        else:
            arrivals.append(Arrival(pod, request, at_s, leaves_s))
    return Intake(tuple(arrivals), tuple(invalid))


def pods_of(workloads: Iterable[Workload], nodes: Iterable[NodeState], settings: Settings) -> Iterator[Pod]:
    """The Pods that the controllers of these workloads would make on these nodes."""
    nodes = tuple(nodes)
    for workload in workloads:
        if not workload.per_node:
            yield from expand(workload)
            continue
        request = check(workload.template, settings)
        if isinstance(request, Refusal):
            yield workload.template  # refused once, not once a node
        else:
            yield from expand(workload, [node.name for node in nodes if daemon_belongs(request, node.rules)])


def renamed_apart(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The Pods with names that differ, since two files may each hold one of the same name."""
    seen: dict[str, int] = {}
    kept = []
    for pod in pods:
        count = seen[pod.uid] = seen.get(pod.uid, 0) + 1
        kept.append(pod if count == 1 else _again(pod, count))
    return tuple(kept)


def _again(pod: Pod, count: int) -> Pod:
    return replace(pod, uid=type(pod.uid)(f"{pod.uid}~{count}"), name=f"{pod.name}~{count}")

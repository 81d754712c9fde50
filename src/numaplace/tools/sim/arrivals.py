"""Pods as the simulator meets them: decoded, checked, with the times they come and go.

Manifests all arrive at once and are decided in the planner's order; a trace brings
its own times. DaemonSets become one Pod for each node they belong to.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from numaplace.decide.admit import check, check_bound
from numaplace.decide.rules import daemon_belongs, looked_up
from numaplace.model.catalog import Catalog
from numaplace.model.cluster import NodeState
from numaplace.model.live_pod import foreign_gates, pin_of
from numaplace.model.pod import Pod
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.report.outcome import Unplaced, named
from numaplace.wire.allocation import find
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
    notes: tuple[str, ...] = ()  # what is left out, and why


def intake_of(
    pods: Iterable[tuple[Pod, float, float | None]], settings: Settings, catalog: Catalog | None = None
) -> Intake:
    """Check every Pod with its times of arrival and end; claims are looked up where there is a `catalog`.

    As the planner does it: Pods that have ended hold nothing and are passed over, Pods
    behind gates of others are left out, Pods on their way keep what they were promised.
    """
    arrivals, invalid = [], []
    gated, unread = [], []
    for pod, at_s, leaves_s in pods:
        if pod.ended:
            continue
        if pod.node_name is None and foreign_gates(pod.gates):
            gated.append(pod)
            continue
        known = settled(pod)
        request = check(known, settings) if known.node_name is None else check_bound(known, settings)
        if isinstance(request, Refusal):
            invalid.append(Unplaced(pod.full_name, pod.owner, request))
            continue
        if catalog is not None:
            request = looked_up(request, catalog)
        elif request.rules.claims and known.node_name is None:
            unread.append(pod)
        arrivals.append(Arrival(known, request, at_s, leaves_s))
    return Intake(tuple(arrivals), tuple(invalid), (*_gated_note(gated), *unread_note(unread)))


def settled(pod: Pod) -> Pod:
    """A Pod with a plan that is on its way to its node, as if it were there already."""
    if pod.node_name is not None or foreign_gates(pod.gates):
        return pod
    to = pod.hint if pod.gates else pin_of(pod.rules) or pod.hint
    allocation = None if to is None else find(pod.annotations)
    return pod if allocation is None or allocation.node != to else replace(pod, node_name=to)


def _gated_note(pods: Sequence[Pod]) -> Iterator[str]:
    if pods:
        gates = ", ".join(sorted({gate for pod in pods for gate in foreign_gates(pod.gates)}))
        names = named(sorted(pod.full_name for pod in pods))
        yield f"left out, since a Pod is planned only when gates of others are gone ({gates[:200]}): {names}"


def unread_note(pods: Sequence[Pod]) -> Iterator[str]:
    """That the volumes of these Pods are left out; nothing where there are none."""
    if pods:
        names = named(sorted(pod.full_name for pod in pods))
        yield f"volumes are not judged, since the nodes' files hold no namespaces, claims and volumes: {names}"


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

"""Replay: the Pods of a captured cluster as they were before numaplace decided for them, in the order of its decisions.

What is played again is what the capture still shows: Pods that had gone by then are
not there, and nodes are as they were at its end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from numaplace.model import keys
from numaplace.model.allocation import Allocation
from numaplace.model.ids import PodUid
from numaplace.model.live_pod import rules_unpinned
from numaplace.model.pod import Pod
from numaplace.tools.report.outcome import Outcome, Replayed
from numaplace.tools.sim.arrivals import settled
from numaplace.wire.allocation import find
from numaplace.wire.trace import TracedPod


def undecided(pods: Iterable[TracedPod]) -> tuple[tuple[TracedPod, ...], Mapping[PodUid, Allocation]]:
    """The Pods without what numaplace gave them, each when it was decided, and what it gave them.

    A decision without a time counts as made when the Pod was created. Pods that others
    placed keep their nodes from their creation on; Pods that wait are decided last.
    """
    recorded: dict[PodUid, Allocation] = {}
    timed: list[tuple[float | None, Pod]] = []
    for pod in (one.pod for one in pods):
        allocation = None if pod.ended else _given(pod)
        if allocation is not None:
            recorded[pod.uid] = allocation
            planned_s = allocation.planned_s
            timed.append((pod.created_s if planned_s is None else planned_s, _as_before(pod, allocation)))
        else:
            timed.append((None if pod.node_name is None else pod.created_s, pod))
    told = [at_s for at_s, _ in timed if at_s is not None]
    first_s, last_s = min(told, default=0.0), max(told, default=0.0) + 1.0
    return tuple(TracedPod(pod, (last_s if at_s is None else at_s) - first_s, None) for at_s, pod in timed), recorded


def replayed(outcome: Outcome, recorded: Mapping[PodUid, Allocation]) -> Replayed:
    """The decisions of a run beside the recorded ones; equal is only what is equal in every CPU and card."""
    decided = {one.request.uid: one.allocation for one in outcome.landings}
    names = {one.request.uid: one.request.full_name for one in outcome.landings}
    names |= {one.request.uid: one.name for one in outcome.unplaced if one.request is not None}
    other = sorted(names.get(uid, uid) for uid, allocation in recorded.items() if decided.get(uid) != allocation)
    return Replayed(len(recorded), tuple(other))


def _given(pod: Pod) -> Allocation | None:
    """What the planner gave the Pod, where it is on that node or on its way to it."""
    allocation, known = find(pod.annotations), settled(pod)
    return allocation if allocation is not None and known.node_name == allocation.node else None


def _as_before(pod: Pod, allocation: Allocation) -> Pod:
    """The Pod as it stood at the gate."""
    annotations = {key: text for key, text in pod.annotations.items() if key != keys.ALLOCATION}
    rules = rules_unpinned(pod.rules, allocation.node)
    return replace(pod, node_name=None, hint=None, annotations=annotations, rules=rules)

"""One event, one new ClusterState; a promise that clashes with another is refused.

Events about nodes or Pods that are not known change nothing, nor do those that a Pod
has gone beyond: they may arrive late or twice, in any order that an API server can deliver.
"""

from dataclasses import replace
from types import MappingProxyType

from numaplace.decide.track.clash import clash
from numaplace.decide.track.events import (
    Event,
    NodeGone,
    NodeSeen,
    NodeSilent,
    PodBound,
    PodEnded,
    PodGranted,
    PodHeld,
    PodRelabelled,
    PodReleased,
    ReportArrived,
    TimePassed,
)
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase, node_state
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest


def reduce(state: ClusterState, event: Event) -> ClusterState | Refusal:
    """The state after `event`; a Refusal if it promises what another Pod already has."""
    match event:
        case NodeGone(node):
            return replace(state, nodes=MappingProxyType({k: one for k, one in state.nodes.items() if k != node}))
        case NodeSeen(node, rules):
            known = state.nodes.get(node) or NodeState(node)
            seen = node_state(node, rules, known.topology, known.reserved)
            return state.with_node(replace(seen, in_use=known.in_use, stale=known.stale, holders=known.holders))
        case NodeSilent(node):
            return state.with_node(replace(state.nodes[node], stale=True)) if node in state.nodes else state
        case ReportArrived():
            return state.with_node(_reported(state.nodes.get(event.node) or NodeState(event.node), event))
        case PodHeld(request, allocation, at_s):
            return _taking(state, allocation.node, Holder(request, allocation, Phase.HELD, at_s))
        case PodGranted(request, allocation, at_s):
            return _taking(state, allocation.node, Holder(request, allocation, Phase.GRANTED, at_s))
        case PodBound(request, node, at_s):
            return _taking(state, node, Holder(request, None, Phase.GRANTED, at_s))
        case PodEnded(uid, node, at_s):
            return _ended(state, uid, node, at_s)
        case PodReleased(uid, node):
            return state.with_node(state.nodes[node].without(uid)) if node in state.nodes else state
        case PodRelabelled():
            return _relabelled(state, event)
        case TimePassed(now_s, grace_s):
            return _after_grace(state, now_s - grace_s)


def _taking(state: ClusterState, name: NodeName, holder: Holder) -> ClusterState | Refusal:
    node = state.nodes.get(name)
    if node is None or _is_past(node.holders.get(holder.request.uid), holder):
        return state
    before = node.holders.get(holder.request.uid)
    named = (before is not None and before.named) or holder.request.uid in (node.in_use or ())
    return clash(node, holder) or state.with_node(node.holding(replace(holder, named=True) if named else holder))


def _is_past(known: Holder | None, told: Holder) -> bool:
    """Whether the book already knows more of the Pod: a UID never comes back, and what it owns is not forgotten."""
    if known is None:
        return False
    order = list(Phase)
    forgets = known.allocation is not None and told.allocation is None and known.phase is told.phase
    return order.index(told.phase) < order.index(known.phase) or forgets


def _reported(node: NodeState, report: ReportArrived) -> NodeState:
    fresh = node_state(node.name, node.rules, report.topology, report.reserved)
    before = {uid: holder for uid, holder in node.holders.items() if holder.phase is not Phase.FOUND}
    found = {uid: _found(uid, uses) for uid, uses in report.found.items() if uid not in before}
    kept = replace(fresh, in_use=report.in_use, holders=MappingProxyType({**before, **found}))
    if report.in_use is None:
        return kept
    named = {uid: replace(kept.holders[uid], named=True) for uid in report.in_use & kept.holders.keys()}
    kept = replace(kept, holders=MappingProxyType({**kept.holders, **named}))
    return kept.without(*(uid for uid in _releasing(node) if uid not in report.in_use))


def _found(uid: PodUid, uses: Allocation) -> Holder:
    """A Pod that nobody knows but its node: what it uses is not free, whatever else it may ask."""
    return Holder(PodRequest(uid, "unknown", uid, (), hcas_exclusive=True), uses, Phase.FOUND)


def _ended(state: ClusterState, uid: PodUid, name: NodeName, at_s: float) -> ClusterState:
    node = state.nodes.get(name)
    holder = node.holders.get(uid) if node else None
    if node is None or holder is None or holder.phase is Phase.RELEASING:
        return state
    if holder.named and node.in_use is not None and uid not in node.in_use:
        return state.with_node(node.without(uid))  # the agent was faster: its last word is that the Pod is gone
    return state.with_node(node.holding(replace(holder, phase=Phase.RELEASING, since_s=at_s)))


def _relabelled(state: ClusterState, event: PodRelabelled) -> ClusterState:
    node = state.nodes.get(event.node)
    holder = node.holders.get(event.uid) if node else None
    if node is None or holder is None:
        return state
    rules = replace(holder.request.rules, labels=event.labels, leaving=event.leaving)
    return state.with_node(node.holding(replace(holder, request=replace(holder.request, rules=rules))))


def _after_grace(state: ClusterState, latest_s: float) -> ClusterState:
    for node in state.nodes.values():
        listed = node.in_use or frozenset()
        over = [uid for uid, since_s in _releasing(node).items() if since_s <= latest_s and uid not in listed]
        if over:
            state = state.with_node(node.without(*over))
    return state


def _releasing(node: NodeState) -> dict[PodUid, float]:
    return {uid: holder.since_s for uid, holder in node.holders.items() if holder.phase is Phase.RELEASING}

"""Book: the nodes' states, changed by nothing but events of `decide.track`.

The keeper's own; it adds who stands in which node's book, what the index has not
been told yet, and what became free.
"""

from numaplace.decide.rules import Company
from numaplace.decide.track import (
    Event,
    NodeGone,
    NodeSeen,
    PodBound,
    PodEnded,
    PodGranted,
    PodHeld,
    PodRelabelled,
    PodReleased,
    ReportArrived,
    reduce,
)
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.news import Freed


class Book:
    """Who holds what, node by node; nothing is entered unless it is open."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """An empty book, closed."""
        self.is_open = False
        self.nodes: dict[NodeName, NodeState] = {}
        self.company = Company(ClusterState())  # the same nodes, for the rules about Pods on other nodes
        self.where: dict[PodUid, NodeName] = {}  # the node in whose book a Pod stands
        self._changed: set[NodeName] = set()
        self._freed: set[NodeName] = set()
        self._left: list[PodRequest] = []
        self._nodes_changed = False
        self._joined: list[PodRequest] = []
        self._ending: set[NodeName] = set()  # nodes with Pods that ended and may still use their devices

    def holder(self, uid: PodUid) -> Holder | None:
        """What a Pod holds or was promised."""
        name = self.where.get(uid)
        return None if name is None else self.nodes[name].holders.get(uid)

    def take_changed(self) -> set[NodeName]:
        """The nodes that changed, came or went since this was asked last."""
        changed, self._changed = self._changed, set()
        return changed

    def take_freed(self) -> Freed | None:
        """What may have come free since this was asked last; None: nothing."""
        if not self._freed:
            return None
        freed = Freed(frozenset(self._freed), tuple(self._left), self._nodes_changed)
        self._freed, self._left, self._nodes_changed = set(), [], False
        return freed

    def take_joined(self) -> tuple[PodRequest, ...]:
        """The Pods that came to a node, or show other labels there, since this was asked last."""
        joined, self._joined = tuple(self._joined), []
        return joined

    def ending(self) -> list[NodeName]:
        """The nodes with Pods that ended and hold their devices still."""
        self._ending = {name for name in self._ending if _has_ended(self.nodes.get(name))}
        return sorted(self._ending)

    def take(self, name: NodeName, event: PodHeld | PodGranted | PodBound) -> Refusal | None:
        """Write a Pod into a node's book, and out of any other's.

        A Refusal if the node is not there, or what the Pod is to have is taken; then it keeps what it has.
        """
        if name not in self.nodes:
            return Refusal(Code.NODE_RULE, f"node {name} is not there", name)
        uid, known = event.request.uid, event.request.uid in self.nodes[name].holders
        refusal = self.apply(name, event)
        if refusal is None:
            elsewhere = self.where.get(uid, name)
            if elsewhere != name:
                self.apply(elsewhere, PodReleased(uid, elsewhere))
            self.where[uid] = name
            if not known:
                self._joined.append(event.request)
        return refusal

    def relabel(self, pod: LivePod) -> None:
        """What other Pods' rules see of a Pod may have changed."""
        holder, name = self.holder(pod.uid), self.where.get(pod.uid)
        if holder is None or name is None or isinstance(pod.asks, Refusal):
            return
        was, now = holder.request.rules, pod.asks.rules
        if (was.labels, was.leaving) != (now.labels, now.leaving):
            self.apply(name, PodRelabelled(pod.uid, name, now.labels, now.leaving))
            self._joined.append(pod.asks)

    def apply(self, name: NodeName, event: Event) -> Refusal | None:
        """One event on one node; the states of the others are not touched, so how many there are does not matter."""
        before = self.nodes.get(name)
        after = reduce(ClusterState({} if before is None else {name: before}), event)
        if isinstance(after, Refusal):
            return after
        node = after.nodes.get(name)
        if node is before:
            return None
        gone = (before.holders.keys() if before else set()) - (node.holders.keys() if node else set())
        for uid in gone:
            self.where.pop(uid, None)
        if node is None:
            del self.nodes[name]
            self.company.remove(name)
        else:
            self.nodes[name] = node
            if _only_confirms(before, event):
                return None  # nothing that a plan looks at has changed
            self.company.update(node)
        self._changed.add(name)
        if isinstance(event, PodEnded):
            self._ending.add(name)
        if gone or _may_free(before, event):
            self._note_freed(name, before, node)
        return None

    def _note_freed(self, name: NodeName, before: NodeState | None, node: NodeState | None) -> None:
        self._freed.add(name)
        self._nodes_changed |= _itself(before) != _itself(node)
        if before is None:
            return
        there = () if node is None or node.rules.labels != before.rules.labels else node.requests
        stay = {one.uid: one for one in there}  # by other labels they would be counted elsewhere
        self._left += (one for one in before.requests if stay.get(one.uid) != one)


def _has_ended(node: NodeState | None) -> bool:
    return node is not None and any(one.phase is Phase.RELEASING for one in node.holders.values())


def _itself(node: NodeState | None) -> object:
    """What a node is and offers, whoever is there."""
    if node is None:
        return None
    cards = None if node.topology is None else (node.topology.gpus, node.topology.hcas)
    return (node.rules, node.layout, cards, node.stale)


def _may_free(node: NodeState | None, event: Event) -> bool:
    """Whether the event may open the node to a Pod that waits: a Pod that is there may also come to hold less."""
    if isinstance(event, PodHeld | PodGranted | PodBound):
        return node is not None and event.request.uid in node.holders
    return isinstance(event, NodeSeen | NodeGone | ReportArrived | PodEnded | PodRelabelled)


def _only_confirms(node: NodeState | None, event: Event) -> bool:
    """Whether a Pod is told to have exactly what it was promised."""
    if node is None or not isinstance(event, PodGranted):
        return False
    holder = node.holders.get(event.request.uid)
    return holder is not None and (holder.request, holder.allocation) == (event.request, event.allocation)

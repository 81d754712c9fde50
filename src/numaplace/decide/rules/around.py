"""Around: what Pods on all nodes mean for one kind of newcomer.

Counted once for all nodes, then kept up to date node by node; a node's answer is a few
look-ups by its labels. `Company` keeps one for each kind of request.
"""

from numaplace.decide.rules.anti_affinity import AntiAffinity
from numaplace.decide.rules.claims_in_use import ClaimsInUse
from numaplace.decide.rules.pod_affinity import PodAffinity
from numaplace.decide.rules.relation import Condition, Namespaces, Relation, Seen, means
from numaplace.decide.rules.spread import TopologySpread, matching
from numaplace.model.cluster import NodeState
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules


class Around:
    """The rules about other Pods that a newcomer has, or that others have about it."""

    def __init__(self, request: PodRequest, namespaces: Namespaces) -> None:
        self._relations: list[Relation] = [AntiAffinity(request, namespaces)]
        if request.rules.affinity:
            self._relations.append(PodAffinity(request, namespaces))
        if request.rules.spreads:
            self._relations.append(TopologySpread(request))
        if request.rules.volumes is not None and request.rules.volumes.alone:
            self._relations.append(ClaimsInUse(request))
        self._seen: dict[tuple[NodeName, int], Seen] = {}
        self._conditions: tuple[Condition, ...] | None = None

    def count(self, node: NodeState) -> None:
        """Count a node and its Pods, in place of what was counted of it before."""
        for i, relation in enumerate(self._relations):
            self._replace((node.name, i), relation, relation.seen_on(node))

    def forget(self, name: NodeName) -> None:
        """Count a node no longer."""
        for i, relation in enumerate(self._relations):
            self._replace((name, i), relation, ())

    def _replace(self, place: tuple[NodeName, int], relation: Relation, now: Seen) -> None:
        before = self._seen.pop(place, ())
        if now:
            self._seen[place] = now
        if before == now:
            return
        if before:
            relation.count(before, -1)
        if now:
            relation.count(now, 1)
        self._conditions = None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What a node must meet, by its labels."""
        if self._conditions is None:
            self._conditions = tuple(one for relation in self._relations for one in relation.conditions())
        return self._conditions

    def refuse(self, node: NodeRules) -> Refusal | None:
        """NODE_RULE with the first sentence that keeps the newcomer from the node."""
        sentences = (one.refuse(node.labels.get(one.key)) for one in self.conditions)
        sentence = next(filter(None, sentences), None)
        return None if sentence is None else Refusal(Code.NODE_RULE, sentence, node.name)


def minds_others(request: PodRequest) -> bool:
    """Whether the request itself has rules about other Pods."""
    rules = request.rules
    alone = rules.volumes is not None and bool(rules.volumes.alone)
    return bool(rules.affinity or rules.anti_affinity or rules.spreads) or alone


def welcomes(request: PodRequest, other: PodRequest, namespaces: Namespaces) -> bool:
    """Whether the arrival of another Pod, on whatever node, may open a node to the request."""
    rules = request.rules
    return _wants(request, other, namespaces) or any(matching(one, request, (other,)) for one in rules.spreads)


def hinders(request: PodRequest, other: PodRequest, namespaces: Namespaces) -> bool:
    """Whether the going of another Pod, from whatever node, may open a node elsewhere to the request."""
    rules, theirs = request.rules, other.rules
    alone = frozenset() if rules.volumes is None else rules.volumes.alone
    return (
        any(means(term, other, namespaces) for term in rules.anti_affinity)
        or any(means(term, request, namespaces) for term in theirs.anti_affinity)
        or any(matching(one, request, (other,)) for one in rules.spreads)
        or _wants(request, other, namespaces)  # with the last one gone the first of a series may be anywhere
        or (other.namespace == request.namespace and not alone.isdisjoint(theirs.claims))
    )


def reaches_by_labels(request: PodRequest) -> bool:
    """Whether labels of namespaces decide whom the request's own rules mean."""
    return any(one.namespace_selector is not None for one in (*request.rules.affinity, *request.rules.anti_affinity))


def _wants(request: PodRequest, other: PodRequest, namespaces: Namespaces) -> bool:
    affinity = request.rules.affinity
    return bool(affinity) and all(means(term, other, namespaces) for term in affinity)

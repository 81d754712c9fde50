"""Rule: a newcomer leaves the Pods of its kind spread evenly (topology spread with DoNotSchedule)."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import cast

from numaplace.decide.rules import node_affinity, node_selector, taints
from numaplace.decide.rules.expressions import selects
from numaplace.decide.rules.relation import Condition, Seen, unlabelled_text
from numaplace.model.cluster import NodeState
from numaplace.model.keys import HOSTNAME
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, Spread
from numaplace.model.words import counted


class _Tally:
    """Matching Pods by value of one label; a value without any Pod counts as long as a node has it."""

    def __init__(self) -> None:
        self.pods: dict[str, int] = {}
        self._nodes: dict[str, int] = {}

    def add(self, value: str, pods: int, sign: int) -> None:
        self._nodes[value] = self._nodes.get(value, 0) + sign
        self.pods[value] = self.pods.get(value, 0) + sign * pods
        if not self._nodes[value]:
            del self._nodes[value], self.pods[value]

    def fewest(self, min_domains: int) -> int:
        return 0 if len(self.pods) < min_domains else min(self.pods.values(), default=0)


class TopologySpread:
    """How a newcomer's kind is spread now, by each of its constraints."""

    def __init__(self, request: PodRequest) -> None:
        self._request, self._spreads = request, request.rules.spreads
        self._tallies = tuple(_Tally() for _ in self._spreads)

    def seen_on(self, node: NodeState) -> Seen:
        """For each constraint that counts the node: its value and its matching Pods."""
        labels = node.rules.labels
        if any(one.topology_key not in labels for one in self._spreads):
            return ()  # a node that lacks one of the labels counts for none
        others = node.requests
        return tuple(
            (i, labels[one.topology_key], matching(one, self._request, others))
            for i, one in enumerate(self._spreads)
            if _is_counted(one, self._request, node.rules)
        )

    def count(self, seen: Seen, sign: int) -> None:
        """Count a node, or no longer."""
        for i, value, pods in cast(tuple[tuple[int, str, int], ...], seen):
            self._tallies[i].add(value, pods, sign)

    def conditions(self) -> Iterable[Condition]:
        """One more Pod must not put the node's value too far ahead of the one with the fewest."""
        for one, tally in zip(self._spreads, self._tallies, strict=True):
            fewest, own = tally.fewest(one.min_domains), selects(one.selector, self._request.rules.labels)
            room = one.max_skew + fewest - own  # so many Pods may be there already
            yield Condition(one.topology_key, tally.pods, partial(_refuse, one, tally.pods, fewest, room))


def refuse_alone(request: PodRequest, node: NodeRules, others: Sequence[PodRequest]) -> Refusal | None:
    """NODE_RULE where the node by itself is too full for a constraint with minDomains.

    A planned Pod is kept to its node by node affinity. Where that affinity decides
    which nodes count, the scheduler then counts this node alone; with `minDomains`
    above 1 it takes the fewest for 0, and would refuse what is well spread.
    """
    for one in request.rules.spreads:
        if one.min_domains <= 1 or not one.honors_affinity:
            continue
        there, own = matching(one, request, others), selects(one.selector, request.rules.labels)
        if there + own > one.max_skew:
            said = f"{_what(one)}, minDomains {one.min_domains}; {counted(there, 'matching Pod')} on the node alone"
            return Refusal(Code.NODE_RULE, said, node.name)
    return None


def matching(spread: Spread, request: PodRequest, others: Iterable[PodRequest]) -> int:
    """How many of the others a constraint counts: an empty selector counts nobody, and nobody counts who leaves."""
    selector = spread.selector
    if selector is None or not selector.requirements:
        return 0
    return sum(
        one.namespace == request.namespace and not one.rules.leaving and selects(selector, one.rules.labels)
        for one in others
    )


def _is_counted(spread: Spread, request: PodRequest, node: NodeRules) -> bool:
    rules: list[Callable[[PodRequest, NodeRules], Refusal | None]] = []
    if spread.honors_affinity:
        rules += [node_selector.refuse, node_affinity.refuse]
    if spread.honors_taints:
        rules.append(taints.refuse)
    return all(refuse(request, node) is None for refuse in rules)


def _refuse(spread: Spread, pods: dict[str, int], fewest: int, room: int, value: str | None) -> str:
    if value is None:
        return f"{_what(spread)}; {unlabelled_text(spread.topology_key)}"
    there = pods.get(value, 0)
    if there <= room:
        return ""
    place = "on the node" if spread.topology_key == HOSTNAME else f"in {value[:80]}"
    return f"{_what(spread)}; {counted(there, 'matching Pod')} {place}, {fewest} where there are fewest"


def _what(spread: Spread) -> str:
    return f"topology spread by {spread.topology_key[:80]}, maxSkew {spread.max_skew}"

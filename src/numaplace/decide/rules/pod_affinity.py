"""Rule: the Pods that a newcomer must be near to are there; the first of a series may be anywhere."""

from collections.abc import Iterable
from functools import partial
from typing import cast

from numaplace.decide.rules.relation import (
    Condition,
    Namespaces,
    Seen,
    means,
    place_text,
    unlabelled_text,
    whom_text,
)
from numaplace.model.cluster import NodeState
from numaplace.model.request import PodRequest
from numaplace.model.rules import PodTerm


class PodAffinity:
    """How many Pods there are that every term of a newcomer means, by each term's label."""

    def __init__(self, request: PodRequest, namespaces: Namespaces) -> None:
        self._terms, self._namespaces = request.rules.affinity, namespaces
        self._means_itself = self._mean(request)
        self._pods: dict[str, dict[str, int]] = {term.topology_key: {} for term in self._terms}

    def _mean(self, other: PodRequest) -> bool:
        """Whether every term means that Pod: one and the same must meet all."""
        return all(means(term, other, self._namespaces) for term in self._terms)

    def seen_on(self, node: NodeState) -> Seen:
        """The node's values of the terms' labels, and how many such Pods it has."""
        labels = node.rules.labels
        values = tuple((key, labels[key]) for key in self._pods if key in labels)
        pods = sum(map(self._mean, node.requests)) if values else 0
        return (values, pods) if pods else ()

    def count(self, seen: Seen, sign: int) -> None:
        """Count the Pods of a node, or no longer."""
        values, pods = cast(tuple[tuple[tuple[str, str], ...], int], seen)
        for key, value in values:
            counts = self._pods[key]
            counts[value] = counts.get(value, 0) + sign * pods
            if not counts[value]:
                del counts[value]

    def conditions(self) -> Iterable[Condition]:
        """Such a Pod must have the node's value; with none anywhere, a Pod that means itself only needs a value."""
        first = self._means_itself and not any(self._pods.values())
        for term in self._terms:
            counts = self._pods[term.topology_key]
            yield Condition(term.topology_key, counts, partial(_refuse, term, counts, first))


def _refuse(term: PodTerm, counts: dict[str, int], first: bool, value: str | None) -> str:
    if value is None:
        return f"Pod affinity to {whom_text(term.selector)}; {unlabelled_text(term.topology_key)}"
    if first or value in counts:
        return ""
    return f"Pod affinity to {whom_text(term.selector)}; none is {place_text(term.topology_key, value)}"

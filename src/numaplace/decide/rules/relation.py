"""What rules about other Pods have in common: how they count them, and how they answer for a node.

Such a rule looks at every node once, keeps counts by value of a node label, and answers
by that value alone; so many nodes share an answer, and one changed node is a small change.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from numaplace.decide.rules.expressions import selects, written
from numaplace.model import keys
from numaplace.model.catalog import NAMESPACE_NAME
from numaplace.model.cluster import NodeState
from numaplace.model.request import PodRequest
from numaplace.model.rules import LabelSelector, PodTerm

Namespaces = Mapping[str, Mapping[str, str]]  # labels by name; of one that is not told only its name is known

Seen = tuple[object, ...]  # what one rule counts of one node

ELSEWHERE = "\0"  # stands for any value that no rule has counted anything for


@dataclass(frozen=True, slots=True)
class Condition:
    """The answer for all nodes by their value of one label."""

    key: str
    told: Collection[str]  # the values that may get another answer than the rest
    refuse: Callable[[str | None], str]  # by value, None where the node has no such label; empty: let in


class Relation(Protocol):
    """One rule about other Pods, for one kind of newcomer."""

    def seen_on(self, node: NodeState) -> Seen:
        """What the rule counts of a node and the Pods in its book; empty for nothing."""
        ...

    def count(self, seen: Seen, sign: int) -> None:
        """Count what was seen on a node (1), or no longer (-1)."""
        ...

    def conditions(self) -> Iterable[Condition]:
        """The answers as of now; a node must pass all of them."""
        ...


def means(term: PodTerm, other: PodRequest, namespaces: Namespaces) -> bool:
    """Whether a term means that Pod, wherever it is."""
    return selects(term.selector, other.rules.labels) and reaches(term, other.namespace, namespaces)


def reaches(term: PodTerm, namespace: str, namespaces: Namespaces) -> bool:
    """Whether a term means Pods of that namespace."""
    if namespace in term.namespaces:
        return True
    if term.namespace_selector is None:
        return False
    return selects(term.namespace_selector, namespaces.get(namespace, {NAMESPACE_NAME: namespace}))


def place_text(key: str, value: str) -> str:
    """Where, in words: `on the node`, or `in zone=a`."""
    return "on the node" if key == keys.HOSTNAME else f"in {key[:80]}={value[:80]}"


def unlabelled_text(key: str) -> str:
    """That a node has no place in the topology."""
    return f"the node does not carry the label {key[:80]}"


def whom_text(selector: LabelSelector | None) -> str:
    """Whom a selector means, in words."""
    if selector is None:
        return "no Pod at all"
    if not selector.requirements:
        return "any Pod"
    return "Pods with " + " and ".join(written(one) for one in selector.requirements[:3])

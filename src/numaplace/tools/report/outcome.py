"""Outcome: who got what, who did not and why, in one run of one way of placing.

The nouns that `tools/sim` fills and that the tables, the JSON and the map read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from numaplace.decide.place import Part
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.words import counted

MOST_NAMED = 5  # Pods in one sentence


def named(names: Sequence[str]) -> str:
    """Some of the names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


@dataclass(frozen=True, slots=True)
class Landing:
    """One Pod on one node; `allocation` None: nobody chose CPUs or devices for it."""

    request: PodRequest
    node: NodeName
    allocation: Allocation | None = None
    score: float | None = None  # 0..1, of the ranking that chose the node
    parts: tuple[Part, ...] = ()
    least_width: int | None = None  # the fewest units that the request needs on this machine when it is empty
    at_s: float = 0.0
    until_s: float | None = None  # None: it stays

    @property
    def aligned(self) -> bool:
        """Whether the Pod lies in as few NUMA domains as it could at best on this machine."""
        width = None if self.allocation is None else self.allocation.width
        return width is not None and self.least_width is not None and width <= self.least_width


@dataclass(frozen=True, slots=True)
class Reason:
    """One kind of refusal among nodes: how many, and one of them in words."""

    code: Code
    sentence: str
    nodes: int


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A Pod that has no place, at the moment it was last decided."""

    name: str  # namespace/name
    owner: str  # Kind/name of its controller, "" for a bare Pod
    refusal: Refusal  # the nearest miss
    reasons: tuple[Reason, ...] = ()  # by node, grouped; empty where it was not asked of every node
    request: PodRequest | None = None  # None: the Pod itself is not valid


@dataclass(frozen=True, slots=True)
class Replayed:
    """Decisions that were recorded in a cluster, beside those of this run."""

    recorded: int  # Pods that had a place there
    differing: tuple[str, ...] = ()  # those that have another here, namespace/name

    @property
    def sentence(self) -> str:
        """How many are the same, and some that are not."""
        same = self.recorded - len(self.differing)
        some = f"; not so: {named(self.differing)}" if self.differing else ""
        return f"{same:,} of {counted(self.recorded, 'Pod')} as recorded{some}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run to its end."""

    contender: str
    landings: tuple[Landing, ...]  # in the order of decisions; Pods that left again included
    unplaced: tuple[Unplaced, ...]
    state: ClusterState  # at the end
    left: int = 0  # landings that ended before the end
    failures: dict[str, int] = field(default_factory=dict)  # Pods that a kubelet refused, by its reason
    elapsed_s: float = 0.0
    replayed: Replayed | None = None  # None: nothing recorded was decided again
    notes: tuple[str, ...] = ()  # what the input asked and the run does not model

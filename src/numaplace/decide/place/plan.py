"""Many Pods on many nodes: in order, each on its best node, as one step of the ledger.

Every Pod sees what those before it were given; one without a place does not hold
back the others.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType

from numaplace.decide.place.hold_back import HoldBack
from numaplace.decide.place.index import NodeIndex
from numaplace.decide.place.place import Placement
from numaplace.model.cluster import ClusterState, Holder, Phase
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided for one Pod."""

    request: PodRequest
    answer: Placement | Refusal


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions in planning order and the state with their holds."""

    decisions: tuple[Decision, ...]
    state: ClusterState


def plan(state: ClusterState, requests: Iterable[PodRequest], settings: Settings = Settings()) -> Plan:
    """Plan `requests` by priority, then age, then name, on a state that nobody has indexed yet."""
    index = NodeIndex(state, settings)
    decisions = plan_with(index, requests)
    return Plan(decisions, ClusterState(MappingProxyType(index.nodes)))


def plan_with(index: NodeIndex, requests: Iterable[PodRequest]) -> tuple[Decision, ...]:
    """Plan `requests` in their order and hold their places in `index`."""
    decisions = []
    hold_back = HoldBack(index)
    for request in sorted(requests, key=lambda request: request.order):
        closed = hold_back.closed_to(request)
        placement = index.best(request, closed)
        if placement is not None:
            node = index.node(placement.allocation.node)
            index.update(node.holding(Holder(request, placement.allocation, Phase.HELD)))
        else:
            hold_back.refused(request)
        decisions.append(Decision(request, placement or index.why_not(request, closed)))
    return tuple(decisions)

"""Many Pods on many nodes: in order, each on its best node, as one step of the ledger.

Every Pod sees what those before it were given. The answer for one Pod is that of the
single-node path on every node whose rules let it in, best rank first, then node name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from numaplace.decide.place.place import Placement, place_on
from numaplace.decide.rules import check
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase
from numaplace.model.refusal import Code, Refusal
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
    """Plan `requests` by priority, then age, then name; a Pod without a place does not hold back the others."""
    decisions = []
    for request in sorted(requests, key=lambda request: request.order):
        answer = best_on(state.nodes.values(), request, settings)
        decisions.append(Decision(request, answer))
        if isinstance(answer, Placement):
            node = state.nodes[answer.allocation.node]
            state = state.with_node(node.holding(Holder(request, answer.allocation, Phase.HELD)))
    return Plan(tuple(decisions), state)


def best_on(nodes: Iterable[NodeState], request: PodRequest, settings: Settings) -> Placement | Refusal:
    """The best placement on any of `nodes`, each judged by itself; else the last refusal in the order of codes."""
    best: Placement | None = None
    nearest: Refusal | None = None
    for node in sorted(nodes, key=lambda node: node.name):
        answer = judge(node, request, settings)
        if isinstance(answer, Placement):
            if best is None or answer.rank < best.rank:
                best = answer
        elif nearest is None or _nearness(answer) > _nearness(nearest):
            nearest = answer
    return best or nearest or Refusal(Code.NODE_RULE, "there is no node")


def judge(node: NodeState, request: PodRequest, settings: Settings) -> Placement | Refusal:
    """Node rules first, then topology."""
    refusal = check(request, node.rules, (holder.request for holder in node.holders.values()), settings)
    return replace(refusal, node=node.name) if refusal else place_on(node, request, settings)


_ORDER = {code: place for place, code in enumerate(Code)}


def _nearness(refusal: Refusal) -> int:
    return _ORDER[refusal.code]

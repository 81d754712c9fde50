"""LivePod: a Pod of a running cluster, and how far it is on its way to a node.

`wire.live_pod` makes it from the API object; the planner's keeper books it by its
stage. The way: waits → (a hold, a hint) → released or open → bound → ended.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from numaplace.model.allocation import Allocation
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.keys import NODE_NAME_FIELD, PLAN_GATE
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeTerm, Operator, PodRules, Requirement


class Stage(StrEnum):
    """Where a Pod is on its way."""

    FOREIGN = "foreign"  # not bound and not the planner's: somebody else's gate, or none and no plan
    WAITS = "waits"  # the planner's gate is its last one
    OPEN = "open"  # without gates, not bound, and its scheduler asks us: its plan can be made, or changed
    RELEASED = "released"  # without gates, with a plan that cannot be changed, not bound yet
    BOUND = "bound"
    ENDED = "ended"  # finished, or deleted before it was bound


@dataclass(frozen=True, slots=True)
class LivePod:
    """What the planner reads of a Pod; the identity is the UID, names are given again."""

    uid: PodUid
    namespace: str
    name: str
    asks: PodRequest | Refusal  # a Refusal (SPEC_INVALID) where the Pod asks what nobody can give
    gates: tuple[str, ...] = ()
    hint: NodeName | None = None  # status.nominatedNodeName
    allocation: Allocation | None = None  # of the annotation; None where there is none, or none of ours
    node: NodeName | None = None  # spec.nodeName
    ended: bool = False  # Succeeded or Failed
    deleting: bool = False
    unschedulable: bool = False  # the scheduler tried and found no node
    refused_with: str = ""  # reason of the condition Planned=False
    has_condition: bool = False  # whether it carries the condition Planned
    owned: bool = False  # a controller replaces it when it goes
    asked: bool = False  # its scheduler asks the extender face before it binds the Pod
    pinned_at_gate: bool = False  # asked, and nevertheless it leaves the gate with a pin

    @property
    def full_name(self) -> str:
        """namespace/name, as kubectl prints it."""
        return f"{self.namespace}/{self.name}"

    @property
    def stage(self) -> Stage:
        """How far it is; a plan counts only where the Pod is kept to one node, or hinted to it."""
        if self.ended or (self.deleting and self.node is None):
            return Stage.ENDED
        if self.node is not None:
            return Stage.BOUND
        if self.gates:
            return Stage.FOREIGN if foreign_gates(self.gates) else Stage.WAITS
        if self.stays_open:
            return Stage.OPEN
        planned = self.allocation is not None and (self.pin is not None or self.hint is not None)
        return Stage.RELEASED if planned else Stage.FOREIGN

    @property
    def stays_open(self) -> bool:
        """Whether its plan may change until it is bound: its scheduler asks us, and no pin is on it or to come."""
        pinned = bool(self.gates) or (self.allocation is not None and self.pin is not None)
        return self.asked and not (self.pinned_at_gate and pinned)

    @property
    def strayed(self) -> bool:
        """Whether it is bound to another node than its annotation says."""
        return self.node is not None and self.allocation is not None and self.allocation.node != self.node

    @property
    def pin(self) -> NodeName | None:
        """The one node that its required affinity allows by name, or None."""
        return None if isinstance(self.asks, Refusal) else pin_of(self.asks.rules)

    @property
    def destination(self) -> NodeName | None:
        """The node that a Pod without gates can only go to, or is told to try first."""
        return self.pin or self.hint


def foreign_gates(gates: Iterable[str]) -> tuple[str, ...]:
    """The gates that are not ours; behind one of them a Pod is not planned."""
    return tuple(gate for gate in gates if gate != PLAN_GATE)


def pin_of(rules: PodRules) -> NodeName | None:
    """The one node that required affinity allows by name, or None."""
    names = {_named_node(term) for term in rules.required_terms or () if term.labels or term.fields}
    return names.pop() if len(names) == 1 else None


def pin_to(node: NodeName) -> Requirement:
    """The expression that keeps a Pod to one node."""
    return Requirement(NODE_NAME_FIELD, Operator.IN, (node,))


def unpinned(request: PodRequest, node: NodeName) -> PodRequest:
    """What a Pod asked before it was kept to `node`: the terms without the pin, none at all where that was all."""
    return replace(request, rules=rules_unpinned(request.rules, node))


def rules_unpinned(rules: PodRules, node: NodeName) -> PodRules:
    """The same for the rules alone."""
    terms = rules.required_terms
    if terms is None:
        return rules
    left = tuple(replace(one, fields=tuple(field for field in one.fields if field != pin_to(node))) for one in terms)
    none = all(not (one.labels or one.fields) for one in left)
    return replace(rules, required_terms=None if none else left)


def _named_node(term: NodeTerm) -> NodeName | None:
    for one in term.fields:
        if one.key == NODE_NAME_FIELD and one.operator is Operator.IN and len(one.values) == 1:
            return NodeName(one.values[0])
    return None

"""Rule: the Pod tolerates every taint of the node that keeps Pods away."""

from collections.abc import Iterable, Iterator

from numaplace.decide.rules.expressions import integer
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, Taint, Toleration

_HARD = ("NoSchedule", "NoExecute")
_SOFT = ("PreferNoSchedule",)


def refuse(request: PodRequest, node: NodeRules) -> Refusal | None:
    """NODE_RULE naming the first taint that is not tolerated."""
    for taint in _untolerated(node, request.rules.tolerations, _HARD):
        value = f"={taint.value}" if taint.value else ""
        return Refusal(Code.NODE_RULE, f"the taint {taint.key}{value}:{taint.effect} is not tolerated", node.name)
    return None


def soft_taints(request: PodRequest, node: NodeRules) -> int:
    """How many PreferNoSchedule taints of the node the Pod does not tolerate."""
    return sum(1 for _ in _untolerated(node, request.rules.tolerations, _SOFT))


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any toleration covers the taint."""
    return any(_covers(one, taint) for one in tolerations)


def _untolerated(node: NodeRules, tolerations: tuple[Toleration, ...], effects: tuple[str, ...]) -> Iterator[Taint]:
    return (one for one in node.taints if one.effect in effects and not is_tolerated(one, tolerations))


def _covers(toleration: Toleration, taint: Taint) -> bool:
    """Key and effect match where they are named, and the operator holds.

    Gt and Lt ask whether the taint's value is greater or less than the toleration's
    (Kubernetes 1.35, TaintTolerationComparisonOperators); a value that is no number
    is never covered by them.
    """
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator == "Equal":
        return toleration.value == taint.value
    left, right = integer(taint.value), integer(toleration.value)
    if left is None or right is None:
        return False
    return left > right if toleration.operator == "Gt" else left < right

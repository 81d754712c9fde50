"""One evaluation of selector expressions, for labels of nodes, fields of nodes and labels of Pods."""

import re
from collections.abc import Mapping

from numaplace.model.rules import LabelSelector, Operator, Requirement

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def integer(text: str) -> int | None:
    """The text as a signed 64-bit number, the way Kubernetes compares values; None if it is none."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def holds(requirement: Requirement, values: Mapping[str, str]) -> bool:
    """Whether `values` (labels or fields) meet one expression; NotIn is met by a missing key."""
    value = values.get(requirement.key)
    match requirement.operator:
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.IN:
            return value in requirement.values
        case Operator.NOT_IN:
            return value not in requirement.values
        case Operator.GT | Operator.LT:
            return _compares(value, requirement)


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector means an object with these labels; no selector means none, an empty one all."""
    return selector is not None and all(holds(one, labels) for one in selector.requirements)


def _compares(value: str | None, requirement: Requirement) -> bool:
    left = None if value is None else integer(value)
    right = integer(requirement.values[0]) if len(requirement.values) == 1 else None
    if left is None or right is None:
        return False
    return left > right if requirement.operator is Operator.GT else left < right


def written(requirement: Requirement) -> str:
    """The expression as a person would write it: `zone In [a, b]`."""
    values = f" [{', '.join(requirement.values[:5])[:80]}]" if requirement.values else ""
    return f"{requirement.key[:80]} {requirement.operator}{values}"

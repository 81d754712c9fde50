"""Selector expressions, by the tables of Kubernetes' own documentation."""

import pytest

from numaplace.decide.rules.expressions import holds, integer, selects
from numaplace.model.rules import LabelSelector, Operator, Requirement

LABELS = {"zone": "a", "cores": "96", "empty": ""}


@pytest.mark.parametrize(
    ("key", "operator", "values", "met"),
    [
        ("zone", "In", ["a", "b"], True),
        ("zone", "In", ["b"], False),
        ("absent", "In", ["a"], False),
        ("empty", "In", [""], True),
        ("zone", "NotIn", ["b"], True),
        ("zone", "NotIn", ["a"], False),
        ("absent", "NotIn", ["a"], True),
        ("zone", "Exists", [], True),
        ("empty", "Exists", [], True),
        ("absent", "Exists", [], False),
        ("zone", "DoesNotExist", [], False),
        ("absent", "DoesNotExist", [], True),
        ("cores", "Gt", ["95"], True),
        ("cores", "Gt", ["96"], False),
        ("cores", "Gt", ["-1"], True),
        ("cores", "Lt", ["97"], True),
        ("cores", "Lt", ["96"], False),
        ("zone", "Gt", ["1"], False),
        ("absent", "Lt", ["1"], False),
        ("cores", "Gt", ["many"], False),
    ],
)
def test_an_expression_holds_or_not(key: str, operator: str, values: list[str], met: bool) -> None:
    assert holds(Requirement(key, Operator(operator), tuple(values)), LABELS) is met


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("+5", 5),
        ("1.0", None),
        ("", None),
        ("1_0", None),
        ("٣", None),
        ("9" * 5000, None),
    ],
)
def test_numbers_are_those_of_64_bits(text: str, number: int | None) -> None:
    assert integer(text) == number


def test_no_selector_means_nobody_and_an_empty_one_everybody() -> None:
    assert not selects(None, LABELS)
    assert selects(LabelSelector(), {})


def test_every_requirement_of_a_selector_counts() -> None:
    zone, cores = Requirement("zone", Operator.EXISTS), Requirement("cores", Operator.IN, ("8",))
    assert selects(LabelSelector((zone,)), LABELS)
    assert not selects(LabelSelector((zone, cores)), LABELS)

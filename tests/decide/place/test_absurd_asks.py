"""Asks beyond any machine are refused with numbers, and at once."""

import pytest

from numaplace.decide.place import place_on
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import Policy
from tests.oracle.described import NumaShape, Shape, Site
from tests.oracle.pods import ask, node_of

NODE = node_of(Shape(numas=(NumaShape(), NumaShape()), gpus=(Site(0), Site(0), Site(1))))


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("count", [10**18, 2**63 - 1])
def test_a_slip_of_the_finger_is_no_endless_search(policy: Policy, count: int) -> None:
    answer = place_on(NODE, ask(policy, gpus=count))
    assert isinstance(answer, Refusal)
    assert answer.code is Code.GPUS_SHORT
    assert f"needs {count} GPUs" in answer.sentence

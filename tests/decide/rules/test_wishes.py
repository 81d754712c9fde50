"""What a Pod only wishes for: how much of it a node meets."""

from dataclasses import replace
from typing import Any

import pytest

from numaplace.decide.rules import wishes_met
from numaplace.model.ids import NodeName
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, Taint
from tests.objects import admitted

NODE = NodeRules(name=NodeName("e01"), labels={"zone": "a", "disk": "ssd"})
SOFT = Taint("slow", "", "PreferNoSchedule")


def wishing(*wishes: tuple[int, dict[str, str]], **spec: Any) -> PodRequest:
    """A Pod that prefers nodes with labels, each wish with its weight."""
    preferred = [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
            },
        }
        for weight, labels in wishes
    ]
    return admitted(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}, **spec)


def test_nothing_wished_is_all_met() -> None:
    assert wishes_met(admitted(), NODE) == 1.0


def test_all_wishes_met_is_one_and_none_met_is_what_the_taints_leave() -> None:
    assert wishes_met(wishing((10, {"zone": "a"}), (1, {"disk": "ssd"})), NODE) == 1.0
    assert wishes_met(wishing((10, {"zone": "b"})), NODE) == pytest.approx(0.6)


def test_a_heavier_wish_counts_more() -> None:
    heavy = wishes_met(wishing((80, {"zone": "a"}), (20, {"zone": "b"})), NODE)
    light = wishes_met(wishing((20, {"zone": "a"}), (80, {"zone": "b"})), NODE)
    assert heavy > light


def test_an_empty_wish_counts_nothing() -> None:
    assert wishes_met(wishing((50, {}), (1, {"zone": "a"})), NODE) == 1.0


def test_each_soft_taint_that_is_not_tolerated_counts() -> None:
    one = replace(NODE, taints=(SOFT,))
    two = replace(NODE, taints=(SOFT, Taint("old", "", "PreferNoSchedule")))
    assert 1.0 > wishes_met(admitted(), one) > wishes_met(admitted(), two) > 0.0
    assert wishes_met(admitted(tolerations=[{"key": "slow", "operator": "Exists"}]), one) == 1.0


def test_hard_taints_are_no_wish() -> None:
    assert wishes_met(admitted(), replace(NODE, taints=(Taint("x", "", "NoSchedule"),))) == 1.0

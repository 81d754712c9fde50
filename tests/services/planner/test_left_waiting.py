"""Who waits is planned again when something it lacks comes free: nobody is forgotten, nobody is tried in vain."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from numaplace.model.ids import PodUid
from numaplace.model.request import PodRequest
from numaplace.model.rules import LabelSelector, PodTerm, Spread, Toleration, Volumes
from numaplace.model.settings import Settings
from tests.objects import OURS, admitted, container
from tests.properties.effort import examples
from tests.services.planner.town import STEPS, WEB, Step, Town, towns

MANY = 300
FREES = (("end", 0, 0), ("time", 0, 14))  # one Pod of those that are bound


@given(towns(), STEPS)
@settings(max_examples=examples(100), deadline=None)
def test_nobody_who_could_be_placed_is_left_waiting(town: Town, steps: list[Step]) -> None:
    for step in steps:
        town.happens(step)
        assert town.left_waiting() == []


def asks(number: int = 0, *, gpus: int = 1, **rules: Any) -> PodRequest:
    """Pods that all differ, since each tolerates something else."""
    one = admitted(container(limits={"cpu": 1, "aliyun.com/gpu": gpus}), annotations=OURS)
    return replace(one, rules=replace(one.rules, tolerations=(Toleration(key=f"team-{number}"),), **rules))


def full_town(ours: list[PodRequest], *, nodes: int = 1) -> Town:
    """All GPUs (two on the first node, four on the next) have Pods, and one Pod of each kind waits."""
    town = Town([{}] * nodes, Settings(release_grace_s=10.0), [asks(1_000_000), *ours], [])
    for _ in range((2, 6)[nodes - 1]):
        town.happens(("add", 0, 1))
        town.happens(("bind", 0, 0))
    for number in range(len(ours)):
        town.happens(("add", number + 1, 1))
    assert town.tries == {"placed": (2, 6)[nodes - 1], "refused": len(ours)}
    return town


@contextmanager
def costing(town: Town, *, placed: int = 0, refused: int = 0, told: int = 0) -> Iterator[None]:
    """What happens here takes so many plans, and so many Pods are told that they wait."""
    tries, heard = town.tries, len(town.notices.told)
    yield
    now = town.tries
    assert {kind: now[kind] - tries[kind] for kind in now} == {"placed": placed, "refused": refused}
    assert len(town.notices.told) - heard == told


def test_of_many_who_all_differ_one_is_planned_for_one_freed_card_and_nobody_else_is_told_anything() -> None:
    town = full_town([asks(number) for number in range(MANY)])
    with costing(town, placed=1):
        for step in FREES:
            town.happens(step)
    assert len(town.planner.waiting) == MANY - 1


def test_who_asks_more_than_came_free_is_not_tried() -> None:
    town = full_town([asks(number, gpus=2) for number in range(MANY)])
    with costing(town):
        for step in FREES:
            town.happens(step)
    with costing(town, placed=1):
        for step in FREES:
            town.happens(step)


def test_a_node_that_its_rules_keep_from_a_pod_gives_it_no_hope() -> None:
    town = full_town([asks(number, node_selector={"disk": "ssd"}) for number in range(MANY)])
    with costing(town):
        for step in FREES:
            town.happens(step)
    with costing(town, placed=1):
        town.happens(("label", 0, 7))  # disk=ssd


@pytest.mark.parametrize("what", ["report_anew", "cordon", "unknown"])
def test_what_frees_nothing_has_nobody_planned(what: str) -> None:
    town = full_town([asks(number) for number in range(MANY)])
    with costing(town):
        town.happens((what, 0, 1))


def test_many_who_ask_alike_cost_one_plan_for_each_that_has_a_place() -> None:
    town = full_town([asks()])
    with costing(town, told=MANY):
        for _ in range(MANY):
            town.happens(("add", 1, 1))
    with costing(town, placed=1):
        for step in FREES:
            town.happens(step)
    assert len(town.planner.waiting) == MANY


def test_a_pod_that_keeps_others_out_elsewhere_has_them_tried_when_it_goes() -> None:
    """The one that left was on another node than the one it opens."""
    web = LabelSelector()
    guard = asks(anti_affinity=(PodTerm("zone", web, ("ns",)),))
    town = Town([{"zone": "a"}, {"zone": "a"}], Settings(), [guard, *(asks(number) for number in range(MANY))], [])
    town.happens(("add", 0, 1))
    for number in range(MANY):
        town.happens(("add", number + 1, 1))
    assert town.tries == {"placed": 1, "refused": MANY}
    with costing(town, placed=6, refused=MANY - 6, told=MANY - 6):  # there is no other reason now
        town.happens(("lose", 0, 0))


NEAR_NOBODY = {"anti_affinity": (PodTerm("zone", LabelSelector(), ("ns",)),)}
ONE_USER = {"claims": ("data",), "volumes": Volumes(alone=frozenset(("data",)))}


@pytest.mark.parametrize(
    ("first", "second"),
    [(NEAR_NOBODY, {}), ({}, NEAR_NOBODY), (ONE_USER, ONE_USER)],
    ids=["kept out", "avoids", "claim"],
)
def test_one_who_goes_opens_another_node_than_its_own(first: dict[str, Any], second: dict[str, Any]) -> None:
    town = Town([{"zone": "a"}, {"zone": "a"}], Settings(), [asks(1, **first), asks(2, **second)], [])
    town.happens(("add", 0, 1))
    promised = town.keeper.promised(PodUid("p1"))
    assert promised is not None
    town.happens(("cordon", int(promised.node[1:]), 0))
    with costing(town, refused=1, told=1):
        town.happens(("add", 1, 1))
    with costing(town, placed=1):
        town.happens(("lose", 0, 0))


def test_a_node_that_goes_opens_others_where_pods_are_to_be_spread() -> None:
    """With its zone gone, the other one is not too full any more."""
    spread = asks(labels={"app": "web"}, spreads=(Spread("zone", 1, WEB),))
    town = Town([{"zone": "a"}, {"zone": "b"}], Settings(), [spread], [])
    town.happens(("cordon", 1, 0))
    town.happens(("add", 0, 1))
    with costing(town, refused=1, told=1):
        town.happens(("add", 0, 1))
    with costing(town, placed=1):
        town.happens(("drop", 1, 1))


def test_a_node_that_joins_a_zone_opens_others_there_to_who_wants_the_company_of_its_pods() -> None:
    near, web = asks(affinity=(PodTerm("zone", WEB, ("ns",)),)), asks(labels={"app": "web"})
    town = Town([{}, {"zone": "a"}], Settings(), [near, web], [])
    town.happens(("cordon", 1, 0))
    town.happens(("add", 1, 1))
    town.happens(("cordon", 1, 1))
    town.happens(("cordon", 0, 0))
    with costing(town, refused=1, told=1):
        town.happens(("add", 0, 1))
    with costing(town, placed=1):
        town.happens(("label", 0, 4))  # zone=a

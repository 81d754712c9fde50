"""Rules about other Pods on paper: whoever waits for company gets its turn when it comes, in every way of placing."""

from dataclasses import replace

import pytest

from numaplace.model.cluster import ClusterState
from numaplace.model.rules import LabelSelector, Operator, PodTerm, Requirement, Spread
from numaplace.tools.sim.arrivals import Arrival
from tests.tools.paper import arrivals, cluster, places, run

HEAD = "name,arrives_s,leaves_s,cpu,memory,gpu,hca,policy"
WAYS = ("numaplace", "none", "first-fit")


def two_zones() -> ClusterState:
    machine = "machine: 2pkg 32cpu 64GiB 4gpu"
    labels = "ack.node.gpu.schedule: topology"
    return cluster(
        f"nodes:\n- {{name: north, {machine}, labels: {{{labels}, zone: north}}}}\n"
        f"- {{name: south, {machine}, labels: {{{labels}, zone: south}}}}"
    )


def pod(row: str, app: str = "", **rules: object) -> Arrival:
    """A Pod of a trace row, with a label and with rules that a trace cannot tell."""
    (one,) = arrivals(HEAD, row)
    more = replace(one.request.rules, labels={"app": app} if app else {}, **rules)  # type: ignore[arg-type]
    return replace(one, request=replace(one.request, rules=more))


def selector(app: str) -> LabelSelector:
    return LabelSelector((Requirement("app", Operator.IN, (app,)),))


def term(app: str) -> PodTerm:
    return PodTerm("zone", selector(app), ("default",))


@pytest.mark.parametrize("way", WAYS)
def test_who_wants_company_lands_when_it_has_come(way: str) -> None:
    first = pod("longs,0,,2,1Gi,1,0,SingleNUMANode", affinity=(term("db"),))
    pods = [first, pod("db,5,,2,1Gi,0,0,", "db", node_selector={"zone": "south"})]
    outcome = run(two_zones(), pods, way)
    assert places(outcome) == {"longs": "south", "db": "south"}
    assert {one.request.name: one.at_s for one in outcome.landings} == {"longs": 5.0, "db": 5.0}


@pytest.mark.parametrize("way", WAYS)
def test_who_avoids_others_lands_when_they_are_gone(way: str) -> None:
    web = {"app": "web", "anti_affinity": (term("web"),)}
    rows = [f"{name},0,{leaves},2,1Gi,1,0,SingleNUMANode" for name, leaves in (("a", 9), ("b", 20), ("c", ""))]
    outcome = run(two_zones(), [pod(row, **web) for row in rows], way)  # type: ignore[arg-type]
    landed = {one.request.name: one.at_s for one in outcome.landings}
    assert landed == {"a": 0.0, "b": 0.0, "c": 9.0}
    assert places(outcome)["c"] == places(outcome)["a"]


@pytest.mark.parametrize("way", WAYS)
def test_pods_are_spread_over_zones(way: str) -> None:
    even = {"app": "web", "spreads": (Spread("zone", 1, selector("web")),)}
    rows = [f"p{i},{i},,2,1Gi,1,0,BestEffort" for i in range(4)]
    found = places(run(two_zones(), [pod(row, **even) for row in rows], way))  # type: ignore[arg-type]
    assert sorted(found.values()) == ["north", "north", "south", "south"]


def test_a_pod_without_rules_is_no_one_to_wait_for() -> None:
    outcome = run(two_zones(), [pod("longs,0,,2,1Gi,1,0,BestEffort", affinity=(term("db"),)), pod("x,5,,2,1Gi,0,0,")])
    assert places(outcome) == {"x": "north"}
    (left,) = outcome.unplaced
    assert "Pod affinity to Pods with app In [db]" in left.refusal.sentence

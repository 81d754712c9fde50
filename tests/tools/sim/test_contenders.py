"""Ways of placing: ours is the planner's own answer, the simple orders differ from it by the node alone."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.place import Placement, judge, plan
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code
from numaplace.model.settings import Settings
from numaplace.tools.sim.contenders import contender
from numaplace.tools.sim.rankings import ORDERS
from numaplace.wire.allocation import encode
from tests.tools.paper import ENABLED, SMALL, arrivals, cluster, counted, only_landing, places, run, small_cluster

HEAD = "name,arrives_s,gpu,cpu,memory,policy,cpus"


def test_ours_is_what_the_planner_plans() -> None:
    rows = [f"p{i:02},0,{1 + i % 3},{1 + i % 7},1Gi,{('BestEffort', 'Restricted')[i % 2]},exclusive" for i in range(24)]
    pods = arrivals(HEAD, *rows)
    state = small_cluster(4)
    planned = plan(state, [one.request for one in pods])
    expected = [one.answer.allocation for one in planned.decisions if isinstance(one.answer, Placement)]
    assert [one.allocation for one in run(state, pods).landings] == expected


@pytest.mark.parametrize(
    ("name", "nodes"),
    [("first-fit", ["n-1", "n-1", "n-1", "n-1"]), ("spread", ["n-1", "n-2", "n-3", "n-1"])],
)
def test_an_order_says_which_node_is_tried_first(name: str, nodes: list[str]) -> None:
    rows = [f"p{i},{i},1,1,1Gi,SingleNUMANode,shared" for i in range(4)]
    assert list(places(run(small_cluster(3), arrivals(HEAD, *rows), name)).values()) == nodes


def test_best_fit_takes_the_node_with_the_fewest_gpus_left() -> None:
    state = cluster(
        f"nodes:\n- {{name: big, machine: 2pkg 32cpu 64GiB 8gpu, {ENABLED}}}\n"
        f"- {{name: small, machine: {SMALL}, {ENABLED}}}"
    )
    assert only_landing(run(state, arrivals(HEAD, "p,0,1,1,1Gi,SingleNUMANode,shared"), "best-fit")).node == "small"


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(ORDERS)),
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 12), st.integers(1, 30)), min_size=1, max_size=15),
)
def test_an_order_never_refuses_what_some_node_would_take(name: str, asked: list[tuple[int, int, int]]) -> None:
    rows = [f"p{i},{i},{gpu},{cpu},1Gi,Restricted,exclusive" for i, (gpu, cpu, _) in enumerate(asked)]
    pods = [
        replace(one, leaves_s=one.at_s + lasts) for one, (_, _, lasts) in zip(arrivals(HEAD, *rows), asked, strict=True)
    ]
    one = contender(name, small_cluster(2), Settings(), seed=1)
    for pod in pods:
        open_nodes = [
            node.name
            for node in one.ledger.nodes.values()
            if isinstance(judge(node, pod.request, Settings()), Placement)
        ]
        answer = one.place(pod)
        assert (getattr(answer, "node", None) in open_nodes) == bool(open_nodes)


def test_a_bound_pod_keeps_what_its_annotation_says() -> None:
    state = small_cluster(2)
    landing = only_landing(run(state, arrivals(HEAD, "p,0,2,4,1Gi,SingleNUMANode,exclusive")))
    assert landing.allocation is not None
    (one,) = arrivals(HEAD, "p,0,2,4,1Gi,SingleNUMANode,exclusive")
    pod = replace(one.pod, annotations={**one.pod.annotations, "numaplace.dev/allocation": encode(landing.allocation)})
    bound = replace(one, pod=pod, request=replace(one.request, bound_to=landing.node))
    assert only_landing(run(state, [bound])).allocation == landing.allocation


def test_a_pod_bound_to_a_node_that_was_not_given_is_refused() -> None:
    (one,) = arrivals(HEAD, "p,0,1,1,1Gi,,")
    bound = replace(one, request=replace(one.request, bound_to=NodeName("elsewhere")))
    (refused,) = run(small_cluster(), [bound]).unplaced
    assert refused.refusal.code is Code.NODE_RULE
    assert "elsewhere" in refused.refusal.sentence


def test_a_bound_pod_without_annotation_blocks_as_many_cards_as_it_asks() -> None:
    first, second = arrivals(HEAD, "a,0,3,1,1Gi,,", "b,1,2,1,1Gi,BestEffort,")
    bound = replace(first, request=replace(first.request, bound_to=NodeName("n-1")))
    outcome = run(small_cluster(), [bound, second])
    assert places(outcome) == {"a": "n-1"}
    assert counted(outcome).totals.gpus_taken == 3


def test_waiting_for_what_a_kubelet_would_not_give_is_counted_once_a_pod() -> None:
    rows = ["holder,0,4,4,1Gi,,", "p1,1,1,1,1Gi,,", "p2,2,1,1,1Gi,,"]
    outcome = run(small_cluster(), arrivals(HEAD, *rows), "none")
    assert [one.name for one in outcome.unplaced] == ["default/p1", "default/p2"]

"""An explanation shows each node numa by numa: what is asked, what is free, what is missing, what would fit."""

import json

from numaplace.model.settings import Settings
from numaplace.tools.report.explanation import MOST_NODES, explanation_json, explanation_text
from numaplace.tools.sim.explaining import explain
from tests.tools.paper import ENABLED, SMALL, arrivals, cluster, run, small_cluster

HEAD = "name,arrives_s,gpu,cpu,memory,policy,cpus"


def test_the_node_that_would_be_chosen_comes_first_then_the_nearest_misses() -> None:
    nodes = cluster(
        f"nodes:\n- {{name: far, machine: {SMALL}}}\n- {{name: small, machine: 2pkg 32cpu 2gpu, {ENABLED}}}\n"
        f"- {{name: good, machine: {SMALL}, {ENABLED}}}"
    ).nodes.values()
    (one,) = arrivals(HEAD, "p,0,2,4,1Gi,SingleNUMANode,exclusive")
    found = explain(nodes, one.request, Settings())
    assert [view.node for view in found.views] == ["good", "small", "far"]
    assert found.refusal is None
    text = explanation_text(found)
    assert "node good: fits, score" in text
    assert "it would go here" in text
    assert "1 GPU short" in text


def test_what_is_missing_is_told_for_each_numa() -> None:
    state = run(small_cluster(), arrivals(HEAD, "a,0,1,10,1Gi,SingleNUMANode,exclusive")).state
    (one,) = arrivals(HEAD, "p,0,2,12,1Gi,SingleNUMANode,exclusive")
    (view,) = explain(state.nodes.values(), one.request, Settings()).views
    short = [{supply.resource: supply.short for supply in numa.supplies} for numa in view.numas]
    assert short[0] == {"CPUs": 6, "GPUs": 1, "HCAs": 0, "memory": 0}
    assert [numa.marks for numa in view.numas] == [("single",), ()]
    assert [numa.chosen for numa in view.numas] == [False, True]


def test_a_pod_that_is_not_ours_is_explained_by_rules_alone() -> None:
    (one,) = arrivals(HEAD, "p,0,0,40,1Gi,,")
    text = explanation_text(explain(small_cluster().nodes.values(), one.request, Settings()))
    assert "counted by node only" in text
    assert "node n-1: CPUS_SHORT" in text


def test_many_nodes_are_counted_beyond_the_first() -> None:
    (one,) = arrivals(HEAD, "p,0,2,4,1Gi,SingleNUMANode,exclusive")
    found = explain(small_cluster(MOST_NODES + 3).nodes.values(), one.request, Settings())
    assert "and 3 nodes: fits; --node NAME shows one of them" in explanation_text(found)


def test_the_json_holds_what_the_text_says() -> None:
    (one,) = arrivals(HEAD, "p,0,3,4,1Gi,SingleNUMANode,exclusive")
    told = explanation_json(explain(small_cluster().nodes.values(), one.request, Settings()))
    document = json.loads(json.dumps(told))
    assert document["code"] == "NOT_ALIGNABLE"
    (node,) = document["nodes"]
    assert node["fits"] == "fits numa 0 with 2 GPUs"
    assert node["numas"][0]["rooms"][1] == {"resource": "GPUs", "asked": 3, "free": 2, "total": 2, "short": 1}

"""What a run is said to be: totals, table, comparison and JSON tell the same, and tell it right."""

import json

import pytest

from numaplace.model.cluster import node_state
from numaplace.model.ids import NodeName
from numaplace.model.rules import Amounts, NodeRules
from numaplace.model.settings import Settings
from numaplace.tools.report.compare import compare_text
from numaplace.tools.report.document import document_text
from numaplace.tools.report.table import MOST_ROWS, outcome_text
from numaplace.tools.report.totals import totals_of, whole_gpus
from tests.tools.paper import arrivals, counted, run, small_cluster

HEAD = "name,arrives_s,leaves_s,gpu,cpu,memory,policy,cpus,hca"
MACHINE = "2pkg 32cpu 64GiB 4gpu 4hca pix"


def test_totals_count_gpus_alignment_and_what_still_fits() -> None:
    pods = arrivals(HEAD, "a,0,,1,4,1Gi,SingleNUMANode,exclusive,0", "b,1,,4,4,1Gi,BestEffort,exclusive,0")
    totals = counted(run(small_cluster(2), pods)).totals
    assert (totals.asked, totals.placed, totals.unplaced, totals.planned) == (2, 2, 0, 2)
    assert (totals.gpus, totals.gpus_taken) == (8, 5)
    assert totals.aligned == 2
    assert [(one.gpus, one.in_one_numa, one.in_one_node) for one in totals.still_fits] == [
        (1, 3, 3),
        (2, 1, 1),
        (4, 0, 0),
        (8, 0, 0),
    ]


def test_a_pod_that_is_wider_than_it_would_have_to_be_is_not_aligned() -> None:
    pods = arrivals(
        HEAD,
        "a,0,,1,1,1Gi,SingleNUMANode,exclusive,0",
        "b,1,,1,1,1Gi,Restricted,exclusive,0",
        "c,2,,2,1,1Gi,BestEffort,exclusive,0",
    )
    spread_out = run(small_cluster(), pods, "none")
    totals = counted(spread_out).totals
    assert totals.planned == 3
    assert totals.aligned < 3


def test_free_gpus_without_cpus_to_serve_them_do_not_count_as_room() -> None:
    pods = arrivals(HEAD, "a,0,,0,15,1Gi,SingleNUMANode,exclusive,0")
    totals = counted(run(small_cluster(), pods)).totals
    assert totals.still_fits[0].in_one_numa == 2


def test_cpus_that_float_take_from_the_room_of_the_whole_node() -> None:
    pods = arrivals(HEAD, "a,0,,0,24,1Gi,,,0")
    totals = counted(run(small_cluster(), pods)).totals
    assert totals.still_fits[0].in_one_numa == 1


def test_gpus_of_a_machine_that_is_not_known_are_those_its_kubelet_offers() -> None:
    rules = NodeRules(allocatable=Amounts(cpu_milli=32_000, others={"nvidia.com/gpu": 8, "rdma/hca": 1000}))
    assert whole_gpus(node_state(NodeName("plain"), rules), Settings()) == 8
    assert whole_gpus(node_state(NodeName("silent")), Settings()) == 0


def test_gpu_seconds_are_those_between_coming_and_leaving() -> None:
    pods = arrivals(HEAD, "a,5,15,2,1,1Gi,BestEffort,shared,0", "b,0,,1,1,1Gi,BestEffort,shared,0")
    assert counted(run(small_cluster(), pods)).totals.gpu_seconds == 20.0


def test_the_levels_reached_are_counted() -> None:
    settings = Settings(hcas_exclusive=True)
    pods = arrivals(HEAD, "a,0,,1,1,1Gi,SingleNUMANode,exclusive,1", settings=settings)
    outcome = run(small_cluster(), pods, settings=settings)
    assert totals_of(outcome, settings).gpu_hca == {"PIX": 1}


def test_the_table_says_who_got_what_and_who_did_not() -> None:
    pods = arrivals(
        HEAD,
        "a,0,,2,4,1Gi,SingleNUMANode,exclusive,0",
        "plain,1,,0,2,1Gi,,,0",
        "wide,2,,3,4,1Gi,SingleNUMANode,exclusive,0",
    )
    one = counted(run(small_cluster(), pods))
    text = outcome_text(one.outcome, one.totals, scores=True)
    assert "default/a  n-1   0     0-1,16-17" in text
    assert "default/plain  n-1   2 CPUs" in text
    assert "default/wide: GPUS_SHORT" in text
    assert "1 node: needs 3 " in text
    assert "Pods placed  2 of 3, on 1 of 1 node" in text
    assert "fragmentation" in text


def test_a_long_table_is_cut_and_says_so() -> None:
    pods = arrivals(HEAD, *(f"p{i},{i},,0,0,0,SingleNUMANode,shared,0" for i in range(MOST_ROWS + 5)))
    one = counted(run(small_cluster(), pods))
    assert "… and 5 more; -o json and -o html have all of them" in outcome_text(one.outcome, one.totals)


def test_pods_of_one_trace_that_fail_alike_are_told_once() -> None:
    pods = arrivals(HEAD, *(f"p{i},{i},,9,1,1Gi,Restricted,shared,0" for i in range(7)))
    one = counted(run(small_cluster(), pods))
    assert "default/p0 and 6 more: GPUS_SHORT" in outcome_text(one.outcome, one.totals)


def test_runs_are_compared_side_by_side() -> None:
    pods = arrivals(HEAD, "a,0,,1,4,1Gi,SingleNUMANode,exclusive,0", "b,1,,3,20,1Gi,BestEffort,exclusive,0")
    runs = [(run(small_cluster(), pods, name), name) for name in ("numaplace", "kubelet", "none")]
    text = compare_text([(outcome, counted(outcome).totals) for outcome, _ in runs])
    head, *lines = text.splitlines()
    assert head.split() == ["numaplace", "kubelet", "none"]
    told = {line[:22].strip(): line[22:].split() for line in lines}
    assert told["failed at the kubelet"] == ["–", "10", "–"]
    assert told["Pods placed"] == ["2", "of", "2", "1", "of", "2", "2", "of", "2"]


@pytest.mark.parametrize("name", ["numaplace", "kubelet"])
def test_the_document_holds_every_pod_once(name: str) -> None:
    pods = arrivals(HEAD, "a,0,,1,4,1Gi,SingleNUMANode,exclusive,0", "b,1,,4,4,1Gi,SingleNUMANode,exclusive,0")
    one = counted(run(small_cluster(), pods, name))
    document = json.loads(document_text(one.outcome, one.totals, []))
    assert document["v"] == 1
    assert {pod["pod"] for pod in document["pods"]} == {"default/a"}
    assert {pod["pod"] for pod in document["unplaced"]} == {"default/b"}
    assert document["totals"]["placed"] == 1
    assert document["pods"][0]["containers"]["main"]["cpus"] == document["pods"][0]["cpus"]

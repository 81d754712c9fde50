"""The scheduler that counts by node: its vectors agree with the rules, its score with Kubernetes' arithmetic."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.rules import check
from numaplace.model.rules import LabelSelector, PodTerm
from numaplace.model.settings import Settings
from numaplace.tools.sim.ledger import Ledger
from numaplace.tools.sim.scheduler import choose_node, least_allocated, refusal_of
from tests.tools.paper import arrivals, cluster, places, run

HEAD = "name,arrives_s,cpu,memory,gpu,hca"
NODES = """
nodes:
- name: on-#
  count: 2
  machine: 2pkg 16cpu 32GiB 4gpu 2hca pix
  labels: {ack.node.gpu.schedule: topology}
  max-pods: 3
- {name: off-#, count: 2, machine: 2pkg 16cpu 16GiB 4gpu}
- {name: kept, machine: 1pkg 8cpu 8GiB, taints: [{key: a, effect: NoSchedule}]}
- {name: closed, machine: 1pkg 8cpu 8GiB, cordoned: true}
"""


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 9000), st.integers(0, 20), st.integers(0, 4), st.integers(0, 1)),
        min_size=1,
        max_size=12,
    )
)
def test_the_vectors_admit_the_nodes_that_the_rules_admit(asked: list[tuple[int, int, int, int]]) -> None:
    rows = [f"p{i},{i},{milli}m,{gib}Gi,{gpus},{hca}" for i, (milli, gib, gpus, hca) in enumerate(asked)]
    ledger = Ledger(cluster(NODES), Settings())
    for one in arrivals(HEAD, *rows):
        by_vectors = {ledger.table.names[i] for i in ledger.fits(one.request).nonzero()[0]}
        by_rules = {
            name
            for name, node in ledger.nodes.items()
            if check(one.request, node.rules, (held.request for held in node.holders.values()), Settings()) is None
        }
        assert by_vectors == by_rules
        name = choose_node(ledger, one.request)
        assert (name is None) == (not by_rules)
        if name is not None:
            ledger.grant(one.request, name, None, 0.0)


def test_amounts_beyond_any_machine_are_compared_too() -> None:
    nodes = "nodes:\n- {name: n, machine: 1pkg 8cpu, allocatable: {cpu: 1e18, memory: 1Ei, a/b: 1e18}}"
    ledger = Ledger(cluster(nodes), Settings())
    small, large = arrivals(HEAD, "p,0,3,1Gi,0,0", "q,0,3,8Ei,0,0")
    assert ledger.fits(small.request).tolist() == [True]
    assert ledger.fits(large.request).tolist() == [False]


def test_the_score_is_the_mean_share_of_cpu_and_memory_that_stays_free() -> None:
    ledger = Ledger(cluster("nodes:\n- {name: n, machine: 1pkg 10cpu smt1 10GiB}"), Settings())
    (one,) = arrivals(HEAD, "p,0,3,5Gi,0,0")
    assert least_allocated(ledger.table, one.request).tolist() == [(70 + 50) // 2]


def test_a_pod_without_requests_counts_as_a_small_one() -> None:
    ledger = Ledger(cluster("nodes:\n- {name: n, machine: 1pkg 1cpu smt1 1GiB}"), Settings())
    (one,) = arrivals(HEAD, "p,0,0,0,0,0")
    assert least_allocated(ledger.table, one.request).tolist() == [(90 + 80) // 2]


def test_the_least_allocated_node_is_taken_and_the_first_of_equals() -> None:
    nodes = "nodes:\n- {name: n-#, count: 3, machine: 1pkg 8cpu 8GiB}"
    pods = arrivals(HEAD, "a,0,1,1Gi,0,0", "b,1,1,1Gi,0,0", "c,2,1,1Gi,0,0", "d,3,1,1Gi,0,0")
    assert places(run(cluster(nodes), pods)) == {"a": "n-1", "b": "n-2", "c": "n-3", "d": "n-1"}


def test_a_pod_that_is_not_ours_goes_by_amounts_and_blocks_them() -> None:
    (one,) = arrivals(HEAD, "p,0,20,1Gi,0,0")
    ledger = Ledger(cluster(NODES), Settings())
    assert choose_node(ledger, one.request) is None
    assert "CPUs" in refusal_of(ledger, one.request).sentence


def test_anti_affinity_is_seen_by_the_vectors_too() -> None:
    term = PodTerm("kubernetes.io/hostname", LabelSelector(()), ("default",))
    ledger = Ledger(cluster("nodes:\n- {name: n-#, count: 2, machine: 1pkg 8cpu 8GiB}"), Settings())
    chosen = []
    for one in arrivals(HEAD, "a,0,1,1Gi,0,0", "b,0,1,1Gi,0,0", "c,0,1,1Gi,0,0"):
        request = replace(one.request, rules=replace(one.request.rules, anti_affinity=(term,)))
        name = choose_node(ledger, request)
        chosen.append(name)
        if name is not None:
            ledger.grant(request, name, None, 0.0)
    assert chosen == ["n-1", "n-2", None]

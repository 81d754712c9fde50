"""May a node take a Pod: each rule alone, what it says, and which one speaks first."""

from dataclasses import replace
from typing import Any

import pytest

from numaplace.decide.rules import Company, check, check_node, check_present, daemon_belongs
from numaplace.model.cluster import ClusterState, Holder, node_state
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import Amounts, NodeRules, Taint
from numaplace.model.settings import Settings
from tests.objects import OURS, admitted, container

SETTINGS = Settings()
ENABLED = {"ack.node.gpu.schedule": "topology"}
PLAIN = NodeRules(name=NodeName("e01"), labels={"kubernetes.io/hostname": "e01", "zone": "a", "cores": "96"})
LABELLED = replace(PLAIN, labels={**PLAIN.labels, **ENABLED})


def refusal_of(request: PodRequest, node: NodeRules, *present: PodRequest) -> Refusal | None:
    state = node_state(node.name, node)
    for one in present:
        state = state.holding(Holder(one))
    around = Company(ClusterState({node.name: state.without(request.uid)})).around(request)
    return check(request, node, present, SETTINGS, around)


def says(request: PodRequest, node: NodeRules, *present: PodRequest, code: Code = Code.NODE_RULE) -> str:
    """The sentence of a refusal with `code`; the test fails if the node would take the Pod."""
    refusal = refusal_of(request, node, *present)
    assert refusal is not None
    assert (refusal.code, refusal.node) == (code, node.name)
    assert node.name not in refusal.sentence, "equal answers of many nodes are counted together"
    return refusal.sentence


@pytest.mark.parametrize(
    ("annotations", "limits"),
    [
        (OURS, {"cpu": 2}),
        ({"numaplace.dev/policy": "BestEffort"}, {"cpu": 2}),
        ({"cpuset-scheduler": "required"}, {"cpu": 2}),
        ({}, {"aliyun.com/gpu": 1}),
    ],
)
def test_what_is_ours_needs_a_labelled_node(annotations: dict[str, str], limits: dict[str, object]) -> None:
    request = admitted(container(limits=limits), annotations=annotations)
    sentence = says(request, PLAIN, code=Code.NODE_NOT_ENABLED)
    assert sentence == "needs a node with the label ack.node.gpu.schedule=topology; the node does not carry it"
    assert refusal_of(request, LABELLED) is None


@pytest.mark.parametrize("mode", ["default", "cgpu", "core_mem", "share", "mps", "mig"])
def test_a_node_in_another_mode_is_refused_by_name(mode: str) -> None:
    node = replace(PLAIN, labels={"ack.node.gpu.schedule": mode})
    request = admitted(container(limits={"aliyun.com/gpu": 1}))
    assert f"the node is in mode {mode}" in says(request, node, code=Code.NODE_NOT_ENABLED)


@pytest.mark.parametrize("limits", [{"cpu": 2}, {"nvidia.com/gpu": 1}, {"rdma/hca": 1}])
def test_what_is_not_ours_needs_no_label(limits: dict[str, object]) -> None:
    assert refusal_of(admitted(container(limits=limits), hostNetwork=True), PLAIN) is None


def test_one_resource_owns_a_nodes_cards() -> None:
    request = admitted(container(limits={"nvidia.com/gpu": 1}))
    assert says(request, LABELLED) == "needs nvidia.com/gpu; the node hands out its cards as aliyun.com/gpu"
    assert refusal_of(request, PLAIN) is None


def test_a_node_that_tells_its_cards_is_judged_by_that() -> None:
    request = admitted(container(limits={"nvidia.com/gpu": 1}))
    offers = replace(LABELLED, allocatable=Amounts(others={"nvidia.com/gpu": 1}))
    assert refusal_of(request, offers) is None
    other = replace(PLAIN, allocatable=Amounts(others={"aliyun.com/gpu": 8}))
    assert says(request, other) == "needs 1 nvidia.com/gpu; the node does not offer it"


def test_a_cordoned_node_takes_only_who_tolerates_it() -> None:
    cordoned = replace(PLAIN, cordoned=True)
    assert says(admitted(), cordoned).startswith("the node is cordoned")
    tolerating = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    assert refusal_of(admitted(tolerations=[tolerating]), cordoned) is None
    assert refusal_of(admitted(tolerations=[{"operator": "Exists"}]), cordoned) is None


def test_the_node_selector_needs_every_label() -> None:
    assert refusal_of(admitted(nodeSelector={"zone": "a", "cores": "96"}), PLAIN) is None
    assert says(admitted(nodeSelector={"zone": "b"}), PLAIN) == "nodeSelector needs zone=b; the node has zone=a"
    assert says(admitted(nodeSelector={"disk": ""}), PLAIN) == "nodeSelector needs disk=; the node does not carry it"


def affine(*terms: dict[str, Any]) -> PodRequest:
    required = {"nodeSelectorTerms": list(terms)}
    return admitted(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})


def labels(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


IN_A = {"key": "zone", "operator": "In", "values": ["a"]}
IN_B = {"key": "zone", "operator": "In", "values": ["b"]}
BIG = {"key": "cores", "operator": "Gt", "values": ["64"]}
HERE = {"key": "metadata.name", "operator": "In", "values": ["e01"]}
ELSEWHERE = {"key": "metadata.name", "operator": "NotIn", "values": ["e01"]}


@pytest.mark.parametrize(
    ("terms", "taken"),
    [
        ([labels(IN_A)], True),
        ([labels(IN_B)], False),
        ([labels(IN_A, BIG)], True),
        ([labels(IN_B, BIG)], False),
        ([labels(IN_B), labels(BIG)], True),
        ([{}], False),
        ([{}, labels(IN_A)], True),
        ([{"matchFields": [HERE]}], True),
        ([{"matchFields": [ELSEWHERE]}], False),
        ([{"matchExpressions": [IN_B], "matchFields": [HERE]}], False),
        ([{"matchExpressions": [IN_A], "matchFields": [HERE]}], True),
    ],
)
def test_one_term_of_the_node_affinity_must_match(terms: list[dict[str, Any]], taken: bool) -> None:
    assert (refusal_of(affine(*terms), PLAIN) is None) is taken


def test_the_expression_that_failed_is_named() -> None:
    assert says(affine(labels(BIG, IN_B)), PLAIN) == "required node affinity: zone In [b] does not hold"
    assert says(affine({}), PLAIN) == "required node affinity: its only term is empty and matches no node"
    assert says(affine({}, labels(IN_B)), PLAIN) == "required node affinity: none of its 2 terms matches"


DEDICATED = Taint("dedicated", "ml", "NoSchedule")
SLA = Taint("sla", "950", "NoExecute")


@pytest.mark.parametrize(
    ("taint", "toleration", "tolerated"),
    [
        (DEDICATED, {"key": "dedicated", "value": "ml"}, True),
        (DEDICATED, {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}, True),
        (DEDICATED, {"key": "dedicated", "value": "ml", "effect": "NoExecute"}, False),
        (DEDICATED, {"key": "dedicated", "value": "web"}, False),
        (DEDICATED, {"key": "dedicated"}, False),
        (DEDICATED, {"key": "dedicated", "operator": "Exists"}, True),
        (DEDICATED, {"key": "other", "operator": "Exists"}, False),
        (DEDICATED, {"operator": "Exists"}, True),
        (DEDICATED, {"operator": "Exists", "effect": "NoExecute"}, False),
        (SLA, {"key": "sla", "operator": "Gt", "value": "900"}, True),
        (SLA, {"key": "sla", "operator": "Gt", "value": "950"}, False),
        (SLA, {"key": "sla", "operator": "Lt", "value": "960"}, True),
        (SLA, {"key": "sla", "operator": "Lt", "value": "950"}, False),
        (DEDICATED, {"key": "dedicated", "operator": "Gt", "value": "1"}, False),
    ],
)
def test_a_taint_is_tolerated_or_not(taint: Taint, toleration: dict[str, str], tolerated: bool) -> None:
    node = replace(PLAIN, taints=(taint,))
    assert (refusal_of(admitted(tolerations=[toleration]), node) is None) is tolerated


def test_every_taint_needs_a_toleration_and_soft_ones_need_none() -> None:
    node = replace(PLAIN, taints=(DEDICATED, SLA, Taint("slow", "", "PreferNoSchedule")))
    assert says(admitted(), node) == "the taint dedicated=ml:NoSchedule is not tolerated"
    one = {"key": "dedicated", "operator": "Exists"}
    assert says(admitted(tolerations=[one]), node) == "the taint sla=950:NoExecute is not tolerated"
    both = [one, {"key": "sla", "operator": "Exists"}]
    assert refusal_of(admitted(tolerations=both), node) is None


def avoiding(name: str, namespace: str = "ns", topology_key: str = "kubernetes.io/hostname", **term: Any) -> PodRequest:
    """A Pod with label app=web that avoids the Pods of its term."""
    required = [{"topologyKey": topology_key, "labelSelector": {"matchLabels": {"app": "web"}}, **term}]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return admitted(affinity=affinity, labels={"app": "web"}, name=name, namespace=namespace)


def test_replicas_that_avoid_each_other_do_not_share_a_node() -> None:
    assert says(avoiding("b"), PLAIN, avoiding("a")) == "anti-affinity: avoids Pod ns/a on the node"


def test_a_pod_that_is_there_may_refuse_the_newcomer() -> None:
    newcomer = admitted(name="n", labels={"app": "web"})
    assert says(newcomer, PLAIN, avoiding("a")) == "anti-affinity: Pod ns/a on the node avoids it"


@pytest.mark.parametrize(
    ("term", "taken"),
    [
        ({}, True),  # its own namespace only
        ({"namespaces": ["other"]}, False),
        ({"namespaceSelector": {}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "third"}}}, True),
        ({"namespaceSelector": {}, "labelSelector": {"matchLabels": {"app": "db"}}}, True),
        ({"namespaceSelector": {}, "labelSelector": None}, True),
        ({"namespaceSelector": {}, "labelSelector": {}}, False),
        ({"namespaceSelector": {}, "topology_key": "zone"}, False),
        ({"namespaceSelector": {}, "topology_key": "rack"}, True),  # the node is in no rack
    ],
)
def test_a_term_reaches_the_namespaces_it_names(term: dict[str, Any], taken: bool) -> None:
    present = admitted(name="a", namespace="other", labels={"app": "web"})
    assert (refusal_of(avoiding("b", **term), PLAIN, present) is None) is taken


def test_a_pod_does_not_stand_in_its_own_way() -> None:
    pod = avoiding("a")
    full = replace(PLAIN, max_pods=1)
    assert refusal_of(pod, full, pod) is None
    assert says(pod, full, admitted(name="other")) == "the node is full: 1 of 1 Pods"


OFFER = replace(LABELLED, allocatable=Amounts(8000, 16 * 2**30, {"aliyun.com/gpu": 2, "hugepages-2Mi": 2**21}))


@pytest.mark.parametrize(
    ("limits", "code", "sentence"),
    [
        ({"cpu": "5500m"}, Code.CPUS_SHORT, "needs 5.5 CPUs; the node has 5 of 8 free"),
        ({"memory": "12Gi"}, Code.MEMORY_SHORT, "needs 12Gi memory; the node has 10Gi of 16Gi free"),
        ({"aliyun.com/gpu": 2}, Code.GPUS_SHORT, "needs 2 aliyun.com/gpu; the node has 1 of 2 free"),
        (
            {"hugepages-2Mi": "4Mi"},
            Code.HUGEPAGES_SHORT,
            "needs 4194304 hugepages-2Mi; the node has 2097152 of 2097152 free",
        ),
        ({"rdma/hca": 1}, Code.NODE_RULE, "needs 1 rdma/hca; the node does not offer it"),
    ],
)
def test_what_is_short_on_the_node_is_named_with_both_numbers(
    limits: dict[str, object], code: Code, sentence: str
) -> None:
    present = admitted(container(limits={"cpu": 3, "memory": "6Gi", "aliyun.com/gpu": 1}), name="there")
    asking = admitted(container(limits=limits), hostNetwork=True)
    assert says(asking, OFFER, present, code=code) == sentence


def test_what_fits_exactly_is_taken() -> None:
    present = admitted(container(limits={"cpu": 3, "memory": "6Gi", "aliyun.com/gpu": 1}), name="there")
    asking = admitted(container(limits={"cpu": 5, "memory": "10Gi", "aliyun.com/gpu": 1}))
    assert refusal_of(asking, OFFER, present) is None


def test_nothing_asked_is_never_short() -> None:
    crowd = [admitted(container(limits={"cpu": 20, "memory": "32Gi"}), name=f"p{index}") for index in range(2)]
    assert refusal_of(admitted(), OFFER, *crowd) is None


def test_a_node_that_does_not_tell_its_amounts_is_not_judged_by_them() -> None:
    assert refusal_of(admitted(container(limits={"cpu": 10_000})), PLAIN) is None


def test_the_label_speaks_before_other_rules() -> None:
    request = admitted(container(limits={"aliyun.com/gpu": 1}), nodeSelector={"zone": "b"})
    says(request, replace(PLAIN, cordoned=True), code=Code.NODE_NOT_ENABLED)


def test_the_two_halves_are_the_whole() -> None:
    request = admitted(nodeSelector={"zone": "b"})
    crowded = replace(PLAIN, max_pods=0)
    assert check_node(request, crowded, SETTINGS) == refusal_of(request, crowded)
    assert check_present(admitted(), crowded, (), SETTINGS) == refusal_of(admitted(), crowded)


@pytest.mark.parametrize(
    ("spec", "belongs"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [labels(IN_B)]}}}}, False),
    ],
)  # fmt: skip
def test_a_daemon_belongs_where_selector_and_affinity_say(spec: dict[str, Any], belongs: bool) -> None:
    full_and_cordoned = replace(PLAIN, max_pods=0, cordoned=True)
    assert daemon_belongs(admitted(**spec), full_and_cordoned) is belongs


def test_a_daemon_keeps_away_from_taints_it_does_not_tolerate() -> None:
    assert not daemon_belongs(admitted(), replace(PLAIN, taints=(DEDICATED,)))

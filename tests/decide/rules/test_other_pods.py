"""Rules about Pods on other nodes, as a table: who is where, and what a node says to the newcomer."""

from dataclasses import replace
from typing import Any

import pytest

from numaplace.decide.rules import Company, check, hinders, reaches_by_labels, welcomes
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase, node_state
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, Taint, Volumes
from numaplace.model.settings import Settings
from tests.objects import admitted

HOSTNAME, ZONE = "kubernetes.io/hostname", "zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}


def node(name: str, *pods: PodRequest, taint: str = "", phase: Phase = Phase.GRANTED, **labels: str) -> NodeState:
    """A node of that name; `zone` and others are labels."""
    taints = (Taint(taint, "", "NoSchedule"),) if taint else ()
    state = node_state(NodeName(name), NodeRules(NodeName(name), {HOSTNAME: name, **labels}, taints))
    for one in pods:
        state = state.holding(Holder(one, phase=phase))
    return state


def pod(name: str, app: str = "web", namespace: str = "ns", **spec: Any) -> PodRequest:
    return admitted(name=name, namespace=namespace, labels={"app": app}, **spec)


def near(name: str = "new", *, key: str = ZONE, app: str = "web", **term: Any) -> PodRequest:
    terms = [{"topologyKey": key, "labelSelector": WEB, **term}]
    return pod(name, app, affinity={"podAffinity": {REQUIRED: terms}})


def apart(name: str = "new", *, key: str = ZONE, app: str = "web", **term: Any) -> PodRequest:
    terms = [{"topologyKey": key, "labelSelector": WEB, **term}]
    return pod(name, app, affinity={"podAntiAffinity": {REQUIRED: terms}})


def uses(request: PodRequest, claim: str) -> PodRequest:
    """The Pod with a claim that only one Pod at a time may use."""
    volumes = Volumes(alone=frozenset((claim,)))
    return replace(request, rules=replace(request.rules, claims=(claim,), volumes=volumes))


def even(name: str = "new", *, key: str = ZONE, app: str = "web", skew: int = 1, **more: Any) -> PodRequest:
    spec = {name: more.pop(name) for name in ("nodeSelector", "tolerations") if name in more}
    rule = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB, **more}
    return pod(name, app, topologySpreadConstraints=[rule], **spec)


def answers(newcomer: PodRequest, *nodes: NodeState) -> dict[str, str]:
    """What every node says; nothing where it takes the Pod."""
    around = Company(ClusterState({one.name: one for one in nodes})).around(newcomer)
    refusals = {one.name: check(newcomer, one.rules, one.requests, Settings(), around) for one in nodes}
    assert all(refusal is None or refusal.code is Code.NODE_RULE for refusal in refusals.values())
    return {name: "" if refusal is None else refusal.sentence for name, refusal in refusals.items()}


def open_nodes(newcomer: PodRequest, *nodes: NodeState) -> set[str]:
    return {name for name, sentence in answers(newcomer, *nodes).items() if not sentence}


def test_the_sentence_says_which_rule_and_where() -> None:
    cluster = (node("n1", pod("old"), zone="a"), node("n2", zone="a"), node("n3", zone="b"), node("n4"))
    assert answers(near(), *cluster) == {
        "n1": "",
        "n2": "",
        "n3": "Pod affinity to Pods with app In [web]; none is in zone=b",
        "n4": "Pod affinity to Pods with app In [web]; the node does not carry the label zone",
    }
    assert answers(apart(), *cluster)["n2"] == "anti-affinity: avoids Pod ns/old in zone=a"
    assert answers(apart(key=HOSTNAME), *cluster)["n1"] == "anti-affinity: avoids Pod ns/old on the node"
    guarded = (node("n1", apart("old", app="db"), zone="a"), node("n2", zone="a"))
    assert answers(pod("new"), *guarded)["n2"] == "anti-affinity: Pod ns/old in zone=a avoids it"
    assert answers(even(), *cluster) == {
        "n1": "topology spread by zone, maxSkew 1; 1 matching Pod in a, 0 where there are fewest",
        "n2": "topology spread by zone, maxSkew 1; 1 matching Pod in a, 0 where there are fewest",
        "n3": "",
        "n4": "topology spread by zone, maxSkew 1; the node does not carry the label zone",
    }


A, B, C = (node("a1", zone="a"), node("b1", zone="b"), node("c1", zone="c"))


@pytest.mark.parametrize(
    ("newcomer", "where"),
    [
        (near(app="web"), {"a1", "b1"}),  # the first of a series means itself
        (near(app="db"), set()),
        (near(app="web", namespaces=["other"]), set()),  # it is not in the namespace that it means
        (near(app="web", namespaceSelector={}), {"a1", "b1"}),
        (near(app="web", labelSelector=None), set()),  # means nobody
        (near(app="web", key=HOSTNAME), {"a1", "b1", "none"}),
        (apart(), {"a1", "b1", "none"}),
    ],
)
def test_a_newcomer_in_an_empty_cluster(newcomer: PodRequest, where: set[str]) -> None:
    assert open_nodes(newcomer, A, B, node("none")) == where


def test_every_term_of_an_affinity_must_be_met_by_one_and_the_same_pod() -> None:
    terms = [
        {"topologyKey": ZONE, "labelSelector": WEB},
        {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"tier": "x"}}},
    ]
    newcomer = pod("new", affinity={"podAffinity": {REQUIRED: terms}})
    tier = admitted(name="tier", labels={"tier": "x"})
    both = admitted(name="both", labels={"tier": "x", "app": "web"})
    assert open_nodes(newcomer, node("a1", pod("web"), tier, zone="a"), B) == set()
    assert open_nodes(newcomer, node("a1", both, zone="a"), node("a2", zone="a"), B) == {"a1", "a2"}


def test_a_pod_on_a_node_without_the_label_is_nobodys_company() -> None:
    assert open_nodes(near(app="db"), node("x", pod("old")), A) == set()
    assert open_nodes(apart(), node("x", pod("old")), A) == {"x", "a1"}


def test_a_pod_that_ended_is_nobodys_company() -> None:
    ended = node("a1", pod("old"), zone="a", phase=Phase.RELEASING)
    assert open_nodes(near(app="db"), ended, B) == set()
    assert open_nodes(apart(), ended, B) == {"a1", "b1"}


@pytest.mark.parametrize("phase", [Phase.HELD, Phase.GRANTED])
def test_a_promised_pod_counts_like_one_that_is_bound(phase: Phase) -> None:
    assert open_nodes(apart(), node("a1", pod("old"), zone="a", phase=phase), B) == {"b1"}


def webs(count: int, name: str = "w") -> list[PodRequest]:
    return [pod(f"{name}{i}") for i in range(count)]


@pytest.mark.parametrize(
    ("newcomer", "where"),
    [
        (even(), {"b1", "c1"}),  # 2, 1 and 1 are there
        (even(skew=2), {"a1", "b1", "c1"}),
        (even(app="db"), {"a1", "b1", "c1"}),  # it does not count itself
        (even(minDomains=3, nodeAffinityPolicy="Ignore"), {"b1", "c1"}),
        (even(labelSelector={}), {"a1", "b1", "c1"}),  # an empty selector counts nobody
        (even(labelSelector=None), {"a1", "b1", "c1"}),
        (even(matchLabelKeys=["app"]), {"b1", "c1"}),
        (even(nodeSelector={"zone": "a"}), {"a1"}),  # no other zone is counted
        (even(nodeSelector={"zone": "a"}, nodeAffinityPolicy="Ignore"), set()),
    ],
)
def test_pods_are_kept_even(newcomer: PodRequest, where: set[str]) -> None:
    cluster = (
        node("a1", *webs(2, "a"), zone="a"),
        node("b1", *webs(1, "b"), zone="b"),
        node("c1", *webs(1, "c"), zone="c"),
    )
    assert open_nodes(newcomer, *cluster) == where


def test_too_few_domains_count_as_one_that_is_empty() -> None:
    cluster = (node("a1", pod("a"), zone="a"), node("a2", zone="a"), node("b1", pod("b"), zone="b"))
    assert open_nodes(even(), *cluster) == {"a1", "a2", "b1"}
    assert open_nodes(even(minDomains=2), *cluster) == {"a2"}
    assert open_nodes(even(minDomains=3), *cluster) == set()


def test_a_node_that_would_be_all_the_scheduler_counts_must_do_by_itself() -> None:
    """A plan keeps its Pod to one node, and the scheduler then counts that node alone, as one domain too few."""
    cluster = (node("a1", pod("a"), zone="a"), node("a2", zone="a"), node("b1", pod("b"), zone="b"))
    said = answers(even(minDomains=2), *cluster)["a1"]
    assert said == "topology spread by zone, maxSkew 1, minDomains 2; 1 matching Pod on the node alone"
    assert open_nodes(even(minDomains=2, nodeAffinityPolicy="Ignore"), *cluster) == {"a1", "a2", "b1"}


def test_a_tainted_node_counts_unless_taints_are_honoured() -> None:
    cluster = (node("a1", pod("a"), zone="a"), node("b1", zone="b", taint="kept"))
    assert open_nodes(even(), *cluster) == set()
    assert open_nodes(even(nodeTaintsPolicy="Honor"), *cluster) == {"a1"}
    tolerant = even(nodeTaintsPolicy="Honor", tolerations=[{"operator": "Exists"}])
    assert open_nodes(tolerant, *cluster) == {"b1"}


def test_a_node_that_lacks_a_label_of_one_constraint_counts_for_none() -> None:
    rules = [
        {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB}
        for key in (ZONE, "rack")
    ]
    newcomer = pod("new", topologySpreadConstraints=rules)
    cluster = (node("a1", pod("old"), zone="a"), node("a2", zone="a", rack="x"), node("b1", zone="b", rack="y"))
    assert open_nodes(newcomer, *cluster) == {"a2", "b1"}


def test_a_pod_that_leaves_is_company_but_is_not_spread_any_more() -> None:
    old = pod("old")
    cluster = (node("a1", replace(old, rules=replace(old.rules, leaving=True)), zone="a"), B)
    assert open_nodes(even(), *cluster) == {"a1", "b1"}
    assert open_nodes(near(app="db"), *cluster) == {"a1"}


def test_a_wish_to_be_spread_forbids_nothing() -> None:
    rule = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": WEB}
    newcomer = pod("new", topologySpreadConstraints=[rule])
    assert open_nodes(newcomer, node("a1", *webs(3), zone="a"), B) == {"a1", "b1"}


@pytest.mark.parametrize(
    ("waiting", "comes", "helps"),
    [
        (near(app="db"), pod("x", "web"), True),
        (near(app="db"), pod("x", "db"), False),
        (near(app="db"), pod("x", "web", "other"), False),
        (near(app="db", namespaceSelector={}), pod("x", "web", "other"), True),
        (even(), pod("x", "web"), True),
        (even(), pod("x", "db"), False),
        (even(), pod("x", "web", "other"), False),
        (apart(), pod("x", "web"), False),
        (pod("plain"), pod("x", "web"), False),
    ],
)
def test_who_is_welcome(waiting: PodRequest, comes: PodRequest, helps: bool) -> None:
    assert welcomes(waiting, comes, {}) is helps


@pytest.mark.parametrize(
    ("waiting", "goes", "helps"),
    [
        (apart(), pod("x", "web"), True),
        (apart(), pod("x", "db"), False),
        (apart(), pod("x", "web", "other"), False),
        (apart(namespaceSelector={}), pod("x", "web", "other"), True),
        (pod("new"), apart("x"), True),
        (pod("new", "db"), apart("x", app="db"), False),
        (even(), pod("x", "web"), True),
        (even(), pod("x", "db"), False),
        (near(), pod("x", "web"), True),
        (near(), pod("x", "db"), False),
        (pod("new"), pod("x", "web"), False),
        (uses(pod("new"), "data"), uses(pod("x"), "data"), True),
        (uses(pod("new"), "data"), uses(pod("x", namespace="other"), "data"), False),
        (uses(pod("new"), "data"), uses(pod("x"), "logs"), False),
        (pod("new"), uses(pod("x"), "data"), False),
    ],
)
def test_whose_going_opens_nodes_elsewhere(waiting: PodRequest, goes: PodRequest, helps: bool) -> None:
    assert hinders(waiting, goes, {}) is helps


def test_who_is_meant_by_labels_of_namespaces() -> None:
    assert reaches_by_labels(near(namespaceSelector={}))
    assert reaches_by_labels(apart(namespaceSelector={"matchLabels": {"team": "x"}}))
    assert not reaches_by_labels(apart(namespaces=["other"]))


def test_namespaces_are_chosen_by_their_labels() -> None:
    newcomer = near(app="db", namespaceSelector={"matchLabels": {"team": "x"}})
    nodes = {"a1": node("a1", pod("old", namespace="other"), zone="a"), "b1": B}
    for labels, taken in (({}, False), ({"other": {"team": "x"}}, True), ({"ns": {"team": "x"}}, False)):
        around = Company(ClusterState({NodeName(k): v for k, v in nodes.items()}, labels)).around(newcomer)
        assert around is not None
        assert (around.refuse(nodes["a1"].rules) is None) is taken


def test_a_cluster_where_nobody_minds_others_counts_nothing() -> None:
    company = Company(ClusterState({A.name: A}))
    assert company.around(pod("new")) is None
    company.update(node("a1", apart("old"), zone="a"))
    assert company.around(pod("new")) is not None
    company.update(A)
    assert company.around(pod("new")) is None

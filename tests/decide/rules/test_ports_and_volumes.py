"""Host ports and claims: what a node says, and what a claim comes to."""

from dataclasses import replace
from typing import Any

import pytest

from numaplace.decide.rules import Around, check
from numaplace.decide.rules.volumes import look_up
from numaplace.model.catalog import Catalog, Claim, StorageClass, Volume
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, NodeTerm, Operator, Requirement, Volumes
from numaplace.model.settings import Settings
from numaplace.wire.pod import decode
from tests.objects import admitted, container, pod_object

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
NODE = NodeRules(NodeName("e01"), {ZONE: "a", "rack": "x"})


def says(request: PodRequest, node: NodeRules = NODE, *present: PodRequest) -> str:
    refusal = check(request, node, present, Settings())
    return "" if refusal is None else refusal.sentence


def with_ports(name: str, *ports: dict[str, Any], **spec: Any) -> PodRequest:
    return admitted(container(ports=list(ports)), name=name, **spec)


@pytest.mark.parametrize(
    ("wants", "has", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80}, {"containerPort": 80}, False),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80, "protocol": "UDP"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, True),
    ],
)
def test_two_pods_clash_by_port_protocol_and_address(wants: dict[str, Any], has: dict[str, Any], clash: bool) -> None:
    assert bool(says(with_ports("new", wants), NODE, with_ports("old", has))) is clash


def test_the_port_and_its_owner_are_named() -> None:
    said = says(with_ports("new", {"hostPort": 80}), NODE, with_ports("old", {"hostPort": 80}))
    assert said == "host port 80/TCP; Pod ns/old on the node has it"


def test_on_the_host_network_every_port_is_the_nodes() -> None:
    old = with_ports("old", {"containerPort": 80}, hostNetwork=True)
    assert says(with_ports("new", {"hostPort": 80}), NODE, old)
    assert not says(with_ports("new", {"containerPort": 80}), NODE, old)


@pytest.mark.parametrize(("stays", "clash"), [("Always", True), (None, False)])
def test_of_init_containers_only_those_that_stay_count(stays: str | None, clash: bool) -> None:
    first = container("first", ports=[{"hostPort": 80}], restartPolicy=stays)
    old = admitted(container(), init=(first,), name="old")
    assert bool(says(with_ports("new", {"hostPort": 80}), NODE, old)) is clash


CATALOG = Catalog(
    claims={
        ("ns", one.name): one
        for one in (
            Claim("ns", "bound", volume="v", bound=True),
            Claim("ns", "orphan", volume="gone", bound=True),
            Claim("ns", "lost", volume="gone", bound=True, lost=True),
            Claim("ns", "leaving", volume="v", bound=True, leaving=True),
            Claim("ns", "meant", volume="v", storage_class="late"),
            Claim("ns", "open", storage_class="soon"),
            Claim("ns", "classless"),
            Claim("ns", "waits", storage_class="late"),
            Claim("ns", "chosen", storage_class="late", node="e02"),
            Claim("ns", "alone", volume="v", bound=True, alone=True),
        )
    },
    volumes={"v": Volume("v")},
    classes={"late": StorageClass("late", waits=True), "soon": StorageClass("soon")},
)


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        ("bound", ""),
        ("waits", ""),
        ("alone", ""),
        ("chosen", ""),
        ("nobody's", "claim nobody's does not exist"),
        ("orphan", "claim orphan is bound to volume gone, which does not exist"),
        ("lost", "claim lost is lost; its volume gone is gone"),
        ("leaving", "claim leaving is being deleted"),
        ("meant", "claim meant is not bound to a volume yet"),
        ("open", "claim open is not bound to a volume yet"),
        ("classless", "claim classless is not bound to a volume yet"),
    ],
)
def test_what_a_claim_comes_to(claim: str, problem: str) -> None:
    found = look_up("ns", (claim,), CATALOG)
    assert found.problem == problem
    assert found.alone == (frozenset({"alone"}) if claim == "alone" else frozenset())
    assert look_up("elsewhere", (claim,), CATALOG).problem == f"claim {claim} does not exist"
    if not problem.startswith("claim"):
        assert says(holding(found), NodeRules(NodeName("e02"))) == ""
    else:
        assert says(holding(found)) == problem


def test_a_volume_that_is_being_made_for_a_node_is_had_there() -> None:
    elsewhere = says(holding(look_up("ns", ("chosen",), CATALOG)))
    assert elsewhere == "volume that is being made of claim chosen; its node affinity does not allow the node"


def holding(volumes: Volumes | None) -> PodRequest:
    request = admitted(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    return replace(request, rules=replace(request.rules, volumes=volumes))


def test_a_claim_for_one_pod_stays_in_use_while_its_pod_goes_to_another_node() -> None:
    """The node that it comes to may be counted before the one that it leaves."""
    user = replace(holding(Volumes(alone=frozenset({"c"}))), uid=PodUid("user"), name="user")
    here, there = (NodeState(NodeName(name), NodeRules(NodeName(name))) for name in ("e01", "e02"))
    around = Around(holding(Volumes(alone=frozenset({"c"}))), {})
    around.count(here.holding(Holder(user)))
    around.count(there.holding(Holder(user)))
    around.count(here)
    refusal = around.refuse(here.rules)
    assert refusal is not None
    assert refusal.sentence == "claim c is for one Pod at a time (ReadWriteOncePod); Pod ns/user uses it"
    around.count(there)
    assert around.refuse(here.rules) is None


def test_claims_that_nobody_looked_up_are_not_judged() -> None:
    assert says(holding(None)) == ""


def test_claims_of_its_own_are_named_after_pod_and_volume() -> None:
    volumes = [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "model", "persistentVolumeClaim": {"claimName": "model"}},
        {"name": "config", "configMap": {"name": "x"}},
    ]
    made = pod_object(name="p", volumes=volumes)
    assert decode(made, "manifest").rules.claims == ("model",)  # its own is made when the Pod is
    made["metadata"]["uid"] = "u"
    assert decode(made, "Pod").rules.claims == ("model", "p-scratch")


def on(volume: Volume) -> PodRequest:
    claims = {("ns", "c"): Claim("ns", "c", volume="v", bound=True)}
    return holding(look_up("ns", ("c",), Catalog(claims, {"v": volume})))


def test_a_volume_keeps_its_pod_to_the_nodes_it_can_be_had_on() -> None:
    here = NodeTerm((Requirement("rack", Operator.IN, ("x",)),))
    there = NodeTerm((Requirement("rack", Operator.IN, ("y",)),))
    assert says(on(Volume("v", (here, there)))) == ""
    assert says(on(Volume("v", (there,)))) == "volume v of claim c; its node affinity does not allow the node"
    assert says(on(Volume("v", ()))) != ""


@pytest.mark.parametrize(
    ("volume", "node", "sentence"),
    [
        ({ZONE: ("a",)}, {ZONE: "a"}, ""),
        ({ZONE: ("b", "a")}, {ZONE: "a"}, ""),
        ({ZONE: ("b",)}, {ZONE: "a"}, f"volume v of claim c has {ZONE}=b; the node has a"),
        ({ZONE: ("b", "c")}, {ZONE: "a"}, f"volume v of claim c has {ZONE}=b|c; the node has a"),
        ({OLD_ZONE: ("a",)}, {ZONE: "a"}, ""),  # the label's old name
        ({ZONE: ("a",)}, {OLD_ZONE: "a"}, f"volume v of claim c has {ZONE}=a; the node does not carry it"),
        ({ZONE: ("b",)}, {}, ""),  # a node in no zone and no region takes any volume
    ],
)
def test_zones_of_volumes_and_nodes(volume: dict[str, tuple[str, ...]], node: dict[str, str], sentence: str) -> None:
    assert says(on(Volume("v", None, tuple(volume.items()))), NodeRules(NodeName("e01"), node)) == sentence

"""The extender protocol as kube-scheduler speaks it: questions in any spelling, answers that Go can read."""

import json
from typing import Any

import pytest

from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.wire import extender_v1 as wire
from tests.objects import OURS, container, pod_object

NAMES = ["n1", "n2", "n3"]
N2 = NodeName("n2")


def pod(**status: Any) -> dict[str, Any]:
    thing = pod_object(container(limits={"cpu": "2", "aliyun.com/gpu": "1"}), annotations=OURS)
    thing["metadata"]["uid"] = "u1"
    return {**thing, "status": status}


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"zone": "a"}}, "status": {"allocatable": {"cpu": "8"}}}


BY_NAME = {"Pod": pod(), "Nodes": None, "NodeNames": NAMES}
WHOLE = {"Pod": pod(), "Nodes": {"metadata": {}, "items": [node(name) for name in NAMES]}, "NodeNames": None}


def asked(question: Any) -> wire.Asked:
    return wire.decode_args(json.dumps(question).encode())


# --- filter and prioritize


@pytest.mark.parametrize("question", [BY_NAME, WHOLE], ids=["by name", "whole"])
def test_a_question_tells_the_pod_and_the_nodes(question: dict[str, Any]) -> None:
    found = asked(question)
    assert (found.uid, found.full_name, found.hint) == ("u1", "ns/p", None)
    assert wire.names_of(found) == NAMES
    assert wire.pod_of(found).spec.containers[0].name == "main"


@pytest.mark.parametrize("spell", [str.lower, str.upper, str.title], ids=["lower", "upper", "title"])
def test_fields_are_read_in_any_case_and_unknown_ones_are_ignored(spell: Any) -> None:
    question = {spell(name): value for name, value in BY_NAME.items()} | {"NodeCacheMiss": [1, {"a": None}]}
    assert wire.names_of(asked(question)) == NAMES


def test_the_hint_is_the_one_that_the_scheduler_knows() -> None:
    assert asked({**BY_NAME, "Pod": pod(nominatedNodeName="n2")}).hint == "n2"


def test_nodes_that_pass_go_back_as_they_came() -> None:
    assert json.loads(wire.everyone(asked(BY_NAME))) == {"NodeNames": NAMES}
    assert json.loads(wire.everyone(asked(WHOLE))) == {"Nodes": WHOLE["Nodes"]}


def test_the_chosen_node_is_the_only_one_and_the_others_cannot_be_had_by_preemption() -> None:
    others = {"n1": "no", "n3": "no"}
    found = json.loads(wire.only(asked(BY_NAME), N2, wire.names_of(asked(BY_NAME)), "no"))
    assert found == {"NodeNames": ["n2"], "FailedAndUnresolvableNodes": others}
    found = json.loads(wire.only(asked(WHOLE), N2, wire.names_of(asked(WHOLE)), "no"))
    assert found == {"Nodes": {"items": [node("n2")]}, "FailedAndUnresolvableNodes": others}


def test_a_refusal_names_every_node() -> None:
    found = json.loads(wire.only(asked(BY_NAME), None, wire.names_of(asked(BY_NAME)), "no"))
    assert found == {"NodeNames": [], "FailedAndUnresolvableNodes": dict.fromkeys(NAMES, "no")}


def test_scores_are_a_list_of_hosts() -> None:
    assert json.loads(wire.scores(None)) == []
    assert json.loads(wire.scores(N2)) == [{"Host": "n2", "Score": 10}]


# --- bind and preempt


def test_a_binding_names_the_pod_by_uid() -> None:
    question = {"podname": "p", "PodNamespace": "ns", "PodUID": "u1", "Node": "n2", "More": 1}
    found = wire.decode_binding(json.dumps(question).encode())
    assert (found.namespace, found.name, found.uid, found.node) == ("ns", "p", "u1", "n2")
    assert json.loads(wire.failed("")) == {"Error": ""}


def test_victims_that_pass_are_named_by_uid() -> None:
    meta = {"n1": {"Pods": [{"UID": "v"}], "NumPDBViolations": 1}}
    by_uid = {"Pod": pod(), "NodeNameToVictims": None, "NodeNameToMetaVictims": meta}
    whole = {"Pod": pod(), "NodeNameToVictims": {"n1": {"Pods": [{"metadata": {"uid": "v"}}], "NumPDBViolations": 1}}}
    for question in (by_uid, whole):
        found = wire.decode_preemption(json.dumps(question).encode())
        assert json.loads(wire.all_victims(found)) == {"NodeNameToMetaVictims": meta}
    assert json.loads(wire.no_victims()) == {"NodeNameToMetaVictims": {}}


def test_no_victims_at_all_pass_as_none() -> None:
    found = wire.decode_preemption(json.dumps({"Pod": pod()}).encode())
    assert json.loads(wire.all_victims(found)) == {"NodeNameToMetaVictims": {}}


# --- broken questions


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "ExtenderArgs: found b''; expected a JSON object"),
        (b"[]", "ExtenderArgs: found b'[]'; expected a JSON object"),
        (b"{}", "ExtenderArgs: Pod: found nothing; expected the Pod that is asked about"),
        (b'{"Pod":null,"NodeNames":[]}', "ExtenderArgs: Pod: found nothing; expected the Pod"),
        (b'{"Pod":{},"NodeNames":[]}', "ExtenderArgs: Pod: metadata: found nothing; expected this field"),
        (b'{"Pod":{"metadata":{}},"NodeNames":[]}', "Pod.metadata.uid: found nothing; expected the Pod's UID"),
        (b'{"Pod":{"metadata":{"uid":5}},"NodeNames":[]}', "Pod: metadata.uid: found the number 5; expected text"),
        (b'{"Pod":{"metadata":{"uid":"u"}}}', "found neither NodeNames nor Nodes; expected one of them"),
        (b'{"Pod":{"metadata":{"uid":"u"}},"NodeNames":[1]}', "NodeNames: [0]: found the number 1; expected text"),
        (b'{"Pod":{"metadata":{"uid":"u"}},"Nodes":{"items":5}}', "Nodes.items: found the number 5; expected a list"),
        (b'{"Pod":{"metadata":{"uid":"u"}},"Nodes":[]}', "Nodes: found b'[]'; expected a JSON object"),
        (b'{"Pod":' + b"[" * 100_000, "ExtenderArgs: found"),
        (b'{"Pod":{"metadata":{"uid":"\xff"}},"NodeNames":[]}', "expected"),
    ],
)
def test_a_broken_question_is_told_what_is_wrong_with_it(body: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        wire.names_of(wire.decode_args(body))
    assert sentence in str(raised.value)


@pytest.mark.parametrize("field", ["PodName", "PodNamespace", "PodUID", "Node"])
@pytest.mark.parametrize("value", [None, "", 5])
def test_a_binding_needs_all_its_fields(field: str, value: Any) -> None:
    question = {"PodName": "p", "PodNamespace": "ns", "PodUID": "u1", "Node": "n2", field: value}
    with pytest.raises(InputError, match=f"ExtenderBindingArgs: {field}: found "):
        wire.decode_binding(json.dumps(question).encode())


def test_victims_that_are_none_are_told() -> None:
    question = {"Pod": pod(), "NodeNameToVictims": {"n1": {"Pods": 5}}}
    with pytest.raises(InputError, match="NodeNameToVictims: Pods: found the number 5; expected a list"):
        wire.all_victims(wire.decode_preemption(json.dumps(question).encode()))

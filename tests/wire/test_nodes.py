"""Dumps of nodes and reports: what is joined, and what is said where something is missing."""

import json
from typing import Any

import pytest

from numaplace.model.errors import InputError
from numaplace.model.rules import Amounts, Taint
from numaplace.wire.nodes import DumpedNode, NodeDump, decode_nodes
from numaplace.wire.report import texts_of

TOPOLOGY = '{"v":1}'


def node(name: str = "e01", **parts: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"zone": "a"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, **parts}


def report(name: str = "e01", **attributes: str) -> dict[str, Any]:
    listed = [{"name": f"numaplace.dev/{key}", "value": value} for key, value in attributes.items()]
    return {"kind": "NodeResourceTopology", "metadata": {"name": name}, "attributes": listed}


def read(*items: dict[str, Any]) -> NodeDump:
    return decode_nodes(json.dumps({"kind": "List", "items": list(items)}), "dump.json")


def only(*items: dict[str, Any]) -> DumpedNode:
    (found,) = read(*items).nodes
    return found


def test_a_node_and_its_report_are_joined_by_name() -> None:
    found = only(report(topology=TOPOLOGY, **{"in-use": "{}"}), node())
    assert (found.rules.name, found.rules.labels) == ("e01", {"zone": "a"})
    assert found.report is not None
    assert texts_of(found.report) == (TOPOLOGY, None, "{}")
    assert found.problem == ""


def test_taints_cordon_and_amounts_are_taken_over() -> None:
    taints = [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"}]
    offered = {"cpu": "95500m", "memory": "2Ti", "pods": "110", "aliyun.com/gpu": "8", "hugepages-2Mi": "0"}
    rules = only(node(spec={"unschedulable": True, "taints": taints}, status={"allocatable": offered})).rules
    assert rules.cordoned
    assert rules.taints == (Taint("dedicated", "ml", "NoSchedule"), Taint("x", "", "NoExecute"))
    assert rules.allocatable == Amounts(95_500, 2**41, {"aliyun.com/gpu": 8, "hugepages-2Mi": 0})
    assert rules.max_pods == 110


def test_a_node_without_status_tells_no_amounts() -> None:
    rules = only(node()).rules
    assert (rules.allocatable, rules.max_pods, rules.cordoned) == (None, None, False)


def test_nodes_stand_in_the_order_of_their_names() -> None:
    assert [one.rules.name for one in read(node("b"), node("a"), report("c")).nodes] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([node()], "node e01: no NodeResourceTopology object, so its machine is not known"),
        ([node(), report()], "its NodeResourceTopology has no attribute numaplace.dev/topology"),
        ([report(topology=TOPOLOGY)], "node e01: no Node object, so its labels, taints and amounts are not known"),
        ([node(), {"kind": "NodeResourceTopology", "metadata": {"name": "e01"}, "zones": []}], "has no attribute"),
    ],
)
def test_what_is_missing_is_said(items: list[dict[str, Any]], problem: str) -> None:
    assert problem in only(*items).problem


def test_other_kinds_are_counted() -> None:
    assert read(node(), {"kind": "Pod"}, {"kind": "Pod"}).skipped == {"Pod": 2}


def test_the_lists_of_the_api_leave_the_kind_of_items_out() -> None:
    item = {key: value for key, value in node().items() if key != "kind"}
    assert len(decode_nodes(json.dumps({"kind": "NodeList", "items": [item]}), "dump.json").nodes) == 1


BROKEN = [
    ([node(), node()], "item 2: found 'e01' a second time; expected each object once"),
    ([node(metadata={})], "item 1: metadata.name: found nothing; expected at most 253"),
    ([node(spec={"taints": [{"key": "x", "effect": "Never"}]})], "spec.taints 'x': effect: found 'Never'"),
    ([node(status={"allocatable": {"cpu": "many"}})], "status.allocatable['cpu']: found 'many'"),
    ([node(status=3)], "item 1: status: found the number 3; expected a mapping"),
    ([{"kind": "NodeResourceTopology", "metadata": {"name": "a"}, "attributes": [{"name": "x"}]}],
     "attributes[0].value: found nothing"),
    ([3], "item 1: found 3; expected a Kubernetes object"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "sentence"), BROKEN, ids=[sentence[:50] for _, sentence in BROKEN])
def test_a_mistake_is_named_with_item_and_field(items: list[Any], sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        read(*items)
    assert sentence in str(raised.value)
    assert str(raised.value).startswith("dump.json: document 1")

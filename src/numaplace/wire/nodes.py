"""A dump of nodes and their reports (`kubectl get noderesourcetopologies,nodes -o json`) into nouns.

For the simulator and for `explain` away from the cluster. The topology document
inside a report has a reader of its own; a node without one is named, not guessed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from numaplace.model import keys
from numaplace.model.catalog import Entry
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.model.rules import CPU, MEMORY, PODS, TAINT_EFFECTS, Amounts, NodeRules, Taint
from numaplace.wire.catalog import KINDS as CATALOG_KINDS
from numaplace.wire.catalog import decode_entry
from numaplace.wire.pod_object import Metadata, Part, Quantities
from numaplace.wire.quantity import parse_quantity
from numaplace.wire.strict import convert, read_name, shown
from numaplace.wire.yaml_text import load_documents


@dataclass(frozen=True, slots=True)
class DumpedNode:
    """One node of a dump."""

    rules: NodeRules  # labels, taints, cordon and allocatable amounts; empty where only a report was there
    report: "ReportObject | None" = None  # None where there is none, or another program wrote it
    problem: str = ""  # one sentence where something is missing


@dataclass(frozen=True, slots=True)
class NodeDump:
    """All nodes of a dump, by name, and what else was in it."""

    nodes: tuple[DumpedNode, ...] = ()
    entries: tuple[Entry, ...] = ()  # namespaces, claims, volumes and storage classes beside them
    skipped: Mapping[str, int] = field(default_factory=dict)  # objects of other kinds


class _Taint(Part):
    key: str
    value: str | None = None
    effect: str | None = None


class _NodeSpec(Part):
    unschedulable: bool | None = None
    taints: list[_Taint] | None = None


class _NodeStatus(Part):
    allocatable: Quantities | None = None


class NodeObject(Part):
    """A Node."""

    metadata: Metadata
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class Attribute(Part):
    """A named text of a report."""

    name: str
    value: str


class ReportObject(Part):
    """A NodeResourceTopology."""

    metadata: Metadata
    attributes: list[Attribute] | None = None


def decode_nodes(text: str, where: str) -> NodeDump:
    """Nodes and NodeResourceTopology objects of a YAML or JSON text, joined by name, and what rules look up.

    InputError names `where`, the object and the field; an object that comes twice is
    one too. A node without a report, or whose report is not ours, has a `problem`.
    """
    rules: dict[str, NodeRules] = {}
    reports: dict[str, ReportObject] = {}
    entries: list[Entry] = []
    skipped: dict[str, int] = {}
    for number, document in enumerate(load_documents(text, where), start=1):
        for thing, at in _items(document, f"{where}: document {number}"):
            kind = str(thing.get("kind"))[:80]
            if kind == "Node":
                node = decode_node(thing, at)
                _once(rules, node.name, node, at)
            elif kind == "NodeResourceTopology":
                report = convert(thing, ReportObject, at)
                _once(reports, _name(report.metadata, at), report, at)
            elif kind in CATALOG_KINDS:
                entries.append(decode_entry(kind, thing, at))
            else:
                skipped[kind] = skipped.get(kind, 0) + 1
    names = sorted({*rules, *reports})
    return NodeDump(tuple(_joined(name, rules.get(name), reports.get(name)) for name in names), tuple(entries), skipped)


def decode_node(thing: object, where: str) -> NodeRules:
    """What a Node object shows to the rules; InputError names the field inside `where`."""
    return node_of(convert(thing, NodeObject, where), where)


def node_of(node: NodeObject, where: str) -> NodeRules:
    """The same for an object that is typed already, as watches deliver them."""
    offered = node.status.allocatable
    amounts = None
    if offered is not None:
        at = f"{where}: status.allocatable"
        amounts = {name: parse_quantity(amount, f"{at}[{name[:80]!r}]") for name, amount in offered.items()}
    return NodeRules(
        name=NodeName(_name(node.metadata, where)),
        labels=node.metadata.labels or {},
        taints=tuple(_taint(one, f"{where}: spec.taints") for one in node.spec.taints or ()),
        cordoned=bool(node.spec.unschedulable),
        allocatable=None if amounts is None else _amounts(amounts),
        max_pods=None if amounts is None or PODS not in amounts else amounts[PODS] // 1000,
    )


def _items(document: object, where: str) -> Iterable[tuple[dict[str, Any], str]]:
    """The objects of a document: itself, or the items of a list."""
    if not isinstance(document, dict):
        raise InputError(where, found=shown(document), wanted="a Node, a NodeResourceTopology or a list of them")
    if "items" not in document:
        yield document, where
        return
    items = document["items"]
    for number, item in enumerate(items if isinstance(items, list) else [items], start=1):
        if not isinstance(item, dict):
            raise InputError(f"{where}, item {number}", found=shown(item), wanted="a Kubernetes object")
        kind = str(document.get("kind", "")).removesuffix("List")
        yield ({"kind": kind, **item} if kind else item), f"{where}, item {number}"


def _once(kept: dict[str, Any], name: str, thing: object, where: str) -> None:
    if name in kept:
        raise InputError(where, found=f"{name!r} a second time", wanted="each object once")
    kept[name] = thing


def _name(meta: Metadata, where: str) -> str:
    return read_name(meta.name or "", f"{where}: metadata.name")


def _taint(one: _Taint, where: str) -> Taint:
    if one.effect not in TAINT_EFFECTS:
        raise InputError(f"{where} {one.key!r}: effect", found=shown(one.effect), wanted=", ".join(TAINT_EFFECTS))
    return Taint(one.key, one.value or "", one.effect)


def _amounts(milli: Mapping[str, int]) -> Amounts:
    """What the kubelet offers, rounded down."""
    others = {name: amount // 1000 for name, amount in milli.items() if name not in (CPU, MEMORY, PODS)}
    return Amounts(milli.get(CPU, 0), milli.get(MEMORY, 0) // 1000, others)


def _joined(name: str, rules: NodeRules | None, report: ReportObject | None) -> DumpedNode:
    attributes = {one.name for one in (report.attributes or ())} if report else set()
    problems = []
    if rules is None:
        problems.append("no Node object, so its labels, taints and amounts are not known")
    if report is None:
        problems.append("no NodeResourceTopology object, so its machine is not known")
    elif keys.TOPOLOGY not in attributes:
        problems.append(f"its NodeResourceTopology has no attribute {keys.TOPOLOGY}, so another program wrote it")
    return DumpedNode(
        rules=rules or NodeRules(name=NodeName(name)),
        report=report if keys.TOPOLOGY in attributes else None,
        problem=f"node {name}: {'; '.join(problems)}" if problems else "",
    )

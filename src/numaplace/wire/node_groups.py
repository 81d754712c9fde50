"""A nodes file: groups of described machines, for clusters that exist on paper.

The simulator and `explain` plan on them; docs/reference/nodes-file.md is the manual.
Here only text becomes values: `tools/sim` makes nodes of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from numaplace.decide.discover import Discovery, assemble
from numaplace.decide.discover.describe import tree_of
from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import InputError, located
from numaplace.model.ids import NodeName
from numaplace.model.layout import AlignLevel
from numaplace.model.rules import TAINT_EFFECTS, Taint
from numaplace.wire.machine import discovered, parse_machine
from numaplace.wire.machine_facts import parse_mapping
from numaplace.wire.quantity import parse_quantity
from numaplace.wire.strict import LONGEST_NAME, convert, shown
from numaplace.wire.yaml_text import load_documents

MAX_NODES = 100_000  # of one file; the largest cluster that is measured
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Equal nodes that differ by name only."""

    names: tuple[NodeName, ...]
    machine: Discovery
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False
    reserved: CpuSet = CpuSet()
    allocatable_milli: Mapping[str, int] = field(default_factory=dict)  # what is said beside what the machine tells
    align: AlignLevel | None = None
    max_pods: int | None = None


class _Strict(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """A mapping that has exactly these fields."""


class _TaintFields(_Strict):
    key: str
    effect: str
    value: str = ""


class _GroupFields(_Strict):
    name: str
    machine: str | dict[str, Any]
    count: int = 1
    labels: dict[str, str] = {}
    taints: list[_TaintFields] = []
    cordoned: bool = False
    reserved: str | int = ""
    allocatable: dict[str, Any] = {}
    align_level: str | None = None
    max_pods: int | None = None


class _File(_Strict):
    nodes: list[_GroupFields]


def decode_groups(text: str, where: str) -> tuple[NodeGroup, ...]:
    """The groups of a nodes file, in order; InputError names document, group and field."""
    groups: list[NodeGroup] = []
    for number, document in enumerate(load_documents(text, where), start=1):
        at = f"{where}: document {number}"
        for index, fields in enumerate(convert(document, _File, at).nodes):
            groups.append(_group(fields, f"{at}: nodes[{index}]"))
    if not groups:
        raise InputError(where, found="no nodes", wanted="a mapping with the key nodes and a list of groups")
    _refuse_doubles(groups, where)
    return tuple(groups)


def _group(fields: _GroupFields, where: str) -> NodeGroup:
    machine = _machine(fields.machine, f"{where}.machine")
    reserved = _reserved(fields.reserved, machine, f"{where}.reserved")
    if fields.max_pods is not None and not 0 <= fields.max_pods <= 100_000:
        raise InputError(f"{where}.max-pods", found=shown(fields.max_pods), wanted="0..100000")
    at = f"{where}.allocatable"
    return NodeGroup(
        names=_names(fields, where),
        machine=machine,
        labels=fields.labels,
        taints=tuple(_taint(one, f"{where}.taints[{i}]") for i, one in enumerate(fields.taints)),
        cordoned=fields.cordoned,
        reserved=reserved,
        allocatable_milli={
            name: parse_quantity(amount, f"{at}[{name!r}]") for name, amount in fields.allocatable.items()
        },
        align=_align(fields.align_level, f"{where}.align-level"),
        max_pods=fields.max_pods,
    )


def _names(fields: _GroupFields, where: str) -> tuple[NodeName, ...]:
    """The nodes' names: a run of # in the pattern is the number, from 1 on, padded to the length of the run."""
    if not 1 <= fields.count <= MAX_NODES:
        raise InputError(f"{where}.count", found=shown(fields.count), wanted=f"1..{MAX_NODES}")
    runs = re.findall(r"#+", fields.name)
    if len(runs) > 1 or (not runs and fields.count > 1):
        wanted = "one run of # where the number belongs, like gpu-##"
        raise InputError(f"{where}.name", found=shown(fields.name), wanted=wanted)
    run = runs[0] if runs else ""
    numbers = range(1, fields.count + 1)
    names = [fields.name.replace(run, str(number).zfill(len(run))) if run else fields.name for number in numbers]
    if not _NAME.fullmatch(names[0]) or len(names[-1]) > LONGEST_NAME:
        wanted = f"a node name: lower-case letters, digits, - and ., at most {LONGEST_NAME} characters"
        raise InputError(f"{where}.name", found=shown(fields.name), wanted=wanted)
    return tuple(map(NodeName, names))


def _machine(said: str | dict[str, Any], where: str) -> Discovery:
    if isinstance(said, dict):
        return assemble(tree_of(parse_mapping(said, parse_machine, where)))
    with located(where):
        return discovered(said)


def _reserved(said: str | int, machine: Discovery, where: str) -> CpuSet:
    with located(where):
        reserved = CpuSet.parse(str(said))
    if not reserved.issubset(machine.topology.online):
        raise InputError(where, found=shown(said), wanted=f"CPUs of the machine, {machine.topology.online}")
    return reserved


def _taint(one: _TaintFields, where: str) -> Taint:
    if one.effect not in TAINT_EFFECTS:
        raise InputError(f"{where}.effect", found=shown(one.effect), wanted=", ".join(TAINT_EFFECTS))
    return Taint(one.key, one.value, one.effect)


def _align(said: str | None, where: str) -> AlignLevel | None:
    if said is None or said in tuple(AlignLevel):
        return None if said is None else AlignLevel(said)
    raise InputError(where, found=shown(said), wanted=" or ".join(AlignLevel))


def _refuse_doubles(groups: list[NodeGroup], where: str) -> None:
    seen: set[NodeName] = set()
    for group in groups:
        double = seen.intersection(group.names)
        if double:
            raise InputError(where, found=f"the node {min(double)} twice", wanted="a different name for each node")
        seen.update(group.names)
        if len(seen) > MAX_NODES:
            raise InputError(where, found=f"more than {MAX_NODES} nodes", wanted="fewer")

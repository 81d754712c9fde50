"""A node's report (NodeResourceTopology) into what the planner builds on.

Its agent writes it; other programs may own an object of that name, which then tells
nothing of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

import msgspec

from numaplace.model import keys
from numaplace.model.allocation import Allocation, ContainerShare, GpuRef, HcaRef
from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import InputError
from numaplace.model.ids import ContainerName, HcaName, NodeName, PodUid, parse_pci_address
from numaplace.model.request import Policy
from numaplace.model.topology import Topology
from numaplace.wire import topology as topology_wire
from numaplace.wire.nodes import ReportObject
from numaplace.wire.strict import decode_json, shown


@dataclass(frozen=True, slots=True)
class Report:
    """One node by its agent's word."""

    node: NodeName
    topology: Topology
    reserved: CpuSet = CpuSet()
    in_use: frozenset[PodUid] | None = None  # None: it does not say
    found: Mapping[PodUid, Allocation] = field(default_factory=lambda: MappingProxyType({}))  # what those in use own


class _Uses(msgspec.Struct):
    """What one Pod owns alone; other fields are the agent's own matter."""

    cpus: str = ""
    gpus: list[str] = []
    hcas: list[HcaName] = []


def texts_of(report: ReportObject) -> tuple[str | None, ...]:
    """All of a report that `report_of` reads: equal texts need not be read again."""
    attributes = {one.name: one.value for one in report.attributes or ()}
    return tuple(attributes.get(key) for key in (keys.TOPOLOGY, keys.RESERVED, keys.IN_USE))


def renewed_s(report: ReportObject) -> float | None:
    """When the agent was last alive, by its own clock in seconds since 1970; None where it does not say.

    InputError names the annotation if it is no time.
    """
    text = (report.metadata.annotations or {}).get(keys.RENEWED)
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        where = f"report {report.metadata.name}: annotation {keys.RENEWED}"
        raise InputError(where, found=shown(text), wanted="a time like 2026-01-31T12:00:00Z") from error


def report_of(report: ReportObject) -> Report | None:
    """The report, or None where another program wrote the object; InputError names the attribute."""
    topology, reserved, in_use = texts_of(report)
    if topology is None:
        return None
    node, where = NodeName(report.metadata.name or ""), f"report {report.metadata.name}"
    uses = None if in_use is None else decode_json(in_use, dict[PodUid, _Uses], f"{where}: {keys.IN_USE}")
    return Report(
        node=node,
        topology=topology_wire.decode(topology, f"{where}: {keys.TOPOLOGY}").topology,
        reserved=CpuSet() if reserved is None else _reserved(reserved, where),
        in_use=None if uses is None else frozenset(uses),
        found={
            uid: _owned(node, one, f"{where}: {keys.IN_USE}: {uid}")
            for uid, one in (uses or {}).items()
            if one.cpus or one.gpus or one.hcas
        },
    )


def _owned(node: NodeName, uses: _Uses, where: str) -> Allocation:
    try:
        cpus, gpus = CpuSet.parse(uses.cpus), sorted(map(parse_pci_address, uses.gpus))
    except InputError as error:
        raise error.inside(where) from error
    share = ContainerShare(cpus, tuple(map(GpuRef, gpus)), tuple(map(HcaRef, sorted(uses.hcas))))
    return Allocation(node, numas=(), policy=Policy.NONE, width=0, containers={ContainerName(""): share})


def _reserved(text: str, where: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except InputError as error:
        raise error.inside(f"{where}: {keys.RESERVED}") from error

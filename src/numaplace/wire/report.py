"""A node's report (NodeResourceTopology) into what the planner builds on.

Its agent writes it; other programs may own an object of that name, which then tells
nothing of ours.
"""

from dataclasses import dataclass
from datetime import datetime

from numaplace.model import keys
from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName, PodUid
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
    where = f"report {report.metadata.name}"
    return Report(
        node=NodeName(report.metadata.name or ""),
        topology=topology_wire.decode(topology, f"{where}: {keys.TOPOLOGY}").topology,
        reserved=CpuSet() if reserved is None else _reserved(reserved, where),
        in_use=None if in_use is None else _in_use(in_use, where),
    )


def _reserved(text: str, where: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except InputError as error:
        raise error.inside(f"{where}: {keys.RESERVED}") from error


def _in_use(text: str, where: str) -> frozenset[PodUid]:
    """The UIDs; what each Pod uses is the agent's own matter."""
    return frozenset(map(PodUid, decode_json(text, dict[str, object], f"{where}: {keys.IN_USE}")))

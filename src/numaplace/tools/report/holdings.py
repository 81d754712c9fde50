"""Who holds what in a cluster, node by node and numa by numa; who waits and why.

`tools/live` fills these nouns; `holdings_table` and `holdings_json` show them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numaplace.model.cluster import Phase
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import HcaName, NodeName, NumaId, PciAddress
from numaplace.model.proximity import Level


@dataclass(frozen=True, slots=True)
class Share:
    """What one Pod has in one numa."""

    pod: str  # namespace/name
    phase: Phase
    cpus: CpuSet = CpuSet()
    shared_cpu_milli: int = 0  # confined to this numa
    gpus: tuple[PciAddress, ...] = ()
    hcas: tuple[HcaName, ...] = ()
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Stock:
    """How much there is of one resource, and how much of it is free."""

    free: int
    total: int


@dataclass(frozen=True, slots=True)
class NumaHoldings:
    """One numa; `numa` None stands for devices whose numa nobody knows."""

    numa: NumaId | None
    cpus: Stock
    gpus: Stock
    hcas: Stock
    memory: Stock  # bytes
    marks: tuple[str, ...]
    shares: tuple[Share, ...]  # by Pod


@dataclass(frozen=True, slots=True)
class PodHoldings:
    """One Pod in a node's book."""

    pod: str
    uid: str
    phase: Phase
    numas: tuple[NumaId, ...] | None  # None: nobody chose anything for it
    gpu_hca: Level | None
    shared_cpu_milli: int  # of a Pod without an allocation: its whole CPUs
    unnamed_gpus: int  # cards it holds of which nobody here knows the name


@dataclass(frozen=True, slots=True)
class NodeHoldings:
    """One node."""

    node: NodeName
    report: str  # none, fresh, stale
    report_age_s: float | None  # None: its agent does not say
    enabled: bool
    cordoned: bool
    numas: tuple[NumaHoldings, ...]  # empty without a report
    pods: tuple[PodHoldings, ...]

    @property
    def counted(self) -> tuple[PodHoldings, ...]:
        """The Pods for which nobody chose anything."""
        return tuple(one for one in self.pods if one.numas is None)


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A Pod at the gate."""

    pod: str
    uid: str
    code: str  # what it was refused with; empty: not yet decided, or not the planner's turn
    gates: tuple[str, ...]  # of others, which come first
    asks: str  # empty, as the time is None, where the Pod asks what nobody can give
    created_s: float | None


@dataclass(frozen=True, slots=True)
class Holdings:
    """A cluster at one time."""

    at_s: float
    nodes: tuple[NodeHoldings, ...]
    waiting: tuple[WaitingPod, ...]  # in the planner's order
    problems: tuple[str, ...]  # what could not be read


def holdings_json(found: Holdings) -> dict[str, object]:
    """For programs; docs/reference/status-json.md is its manual."""
    return {
        "v": 1,
        "at_s": found.at_s,
        "nodes": [_node_json(node) for node in found.nodes],
        "waiting": [
            {
                "pod": one.pod,
                "uid": one.uid,
                "code": one.code or None,
                "gates": list(one.gates),
                "asks": one.asks,
                "created_s": one.created_s,
            }
            for one in found.waiting
        ],
        "problems": list(found.problems),
    }


def _node_json(node: NodeHoldings) -> dict[str, object]:
    return {
        "node": node.node,
        "report": node.report,
        "report_age_s": node.report_age_s,
        "enabled": node.enabled,
        "cordoned": node.cordoned,
        "numas": [_numa_json(numa) for numa in node.numas],
        "pods": [
            {
                "pod": one.pod,
                "uid": one.uid,
                "phase": one.phase,
                "chosen": one.numas is not None,
                "numas": None if one.numas is None else list(one.numas),
                "gpu_hca": None if one.gpu_hca is None else one.gpu_hca.name,
                "shared_cpu_milli": one.shared_cpu_milli,
                "unnamed_gpus": one.unnamed_gpus,
            }
            for one in node.pods
        ],
    }


def _numa_json(numa: NumaHoldings) -> dict[str, object]:
    stocks: Mapping[str, Stock] = {
        "cpus": numa.cpus,
        "gpus": numa.gpus,
        "hcas": numa.hcas,
        "memory_bytes": numa.memory,
    }
    return {
        "numa": numa.numa,
        **{name: {"free": one.free, "total": one.total} for name, one in stocks.items()},
        "marks": list(numa.marks),
        "held": [
            {
                "pod": one.pod,
                "phase": one.phase,
                "cpus": str(one.cpus),
                "shared_cpu_milli": one.shared_cpu_milli,
                "gpus": list(one.gpus),
                "hcas": list(one.hcas),
                "memory_bytes": one.memory_bytes,
            }
            for one in numa.shares
        ],
    }

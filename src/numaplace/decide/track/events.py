"""What can happen to the book of a cluster.

Each event is a fact that already holds; times are seconds on the caller's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from numaplace.model.allocation import Allocation
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules
from numaplace.model.topology import Topology


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A node exists and shows these rules."""

    node: NodeName
    rules: NodeRules


@dataclass(frozen=True, slots=True)
class NodeGone:
    """A node was deleted, and all that was on it."""

    node: NodeName


@dataclass(frozen=True, slots=True)
class ReportArrived:
    """A node's agent told its topology, reserved CPUs, and which Pods still use devices there."""

    node: NodeName
    topology: Topology
    reserved: CpuSet = CpuSet()
    in_use: frozenset[PodUid] | None = None  # None: the agent does not say
    found: Mapping[PodUid, Allocation] = field(default_factory=lambda: MappingProxyType({}))  # what some of them use


@dataclass(frozen=True, slots=True)
class NodeSilent:
    """A node's agent has not been heard of for too long; its next report ends that."""

    node: NodeName


@dataclass(frozen=True, slots=True)
class PodHeld:
    """A place was promised to a Pod that is not bound yet."""

    request: PodRequest
    allocation: Allocation
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class PodGranted:
    """A Pod is bound where its allocation says."""

    request: PodRequest
    allocation: Allocation
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class PodBound:
    """A Pod without an allocation runs on a node; its CPUs float, its GPUs are not yet named."""

    request: PodRequest
    node: NodeName
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class PodEnded:
    """A bound Pod finished or was deleted; its devices are free once the node says so."""

    uid: PodUid
    node: NodeName
    at_s: float


@dataclass(frozen=True, slots=True)
class PodReleased:
    """A Pod holds nothing any more: its hold was taken back, or its node is known to have cleaned up."""

    uid: PodUid
    node: NodeName


@dataclass(frozen=True, slots=True)
class PodRelabelled:
    """A Pod shows other labels to the rules of other Pods, or is being deleted."""

    uid: PodUid
    node: NodeName
    labels: Mapping[str, str]
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class TimePassed:
    """It is `now_s`; Pods that ended long enough ago are released without word from the agent."""

    now_s: float
    grace_s: float


Event = (
    NodeSeen
    | NodeGone
    | ReportArrived
    | NodeSilent
    | PodHeld
    | PodGranted
    | PodBound
    | PodEnded
    | PodReleased
    | PodRelabelled
    | TimePassed
)

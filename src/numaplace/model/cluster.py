"""ClusterState: every node, what it is made of and who holds what on it.

The keeper replaces it as a whole (`decide/track`); everyone else reads the value
handed to them. A node's book is its holders; sums are derived, never stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from numaplace.model.allocation import Allocation
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.keys import ALIGN_LEVEL
from numaplace.model.layout import AlignLevel, Layout, layout_of
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules
from numaplace.model.topology import Topology


class Phase(StrEnum):
    """How far a Pod is on its node, in the order of its life."""

    FOUND = "found"  # its node's agent reports that it runs, and the API server has not told of it
    HELD = "held"  # promised to an unbound Pod
    GRANTED = "granted"  # bound
    RELEASING = "releasing"  # ended, but the node has not yet said that its devices are free


@dataclass(frozen=True, slots=True)
class Holder:
    """One Pod in a node's book; `allocation` None: it runs without one and floats."""

    request: PodRequest
    allocation: Allocation | None = None
    phase: Phase = Phase.GRANTED
    since_s: float = 0.0  # when the phase began
    named: bool = False  # whether a report has listed the Pod among those in use


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node: its machine, its rules and its book."""

    name: NodeName
    rules: NodeRules = NodeRules()
    topology: Topology | None = None  # None: no report yet
    layout: Layout | None = None  # of `topology`; made by `node_state`
    reserved: CpuSet = CpuSet()
    in_use: frozenset[PodUid] | None = None  # Pods that the report lists; None: it does not say
    stale: bool = False  # the agent has been silent for too long: what it reported is not built upon
    holders: Mapping[PodUid, Holder] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def requests(self) -> tuple[PodRequest, ...]:
        """What its Pods ask, bound or promised: those that the node rules look at beside a newcomer.

        Pods that ended are not among them: the scheduler forgets those at once, and what they
        still hold is the topology's matter.
        """
        return tuple(holder.request for holder in self.holders.values() if holder.phase is not Phase.RELEASING)

    def holding(self, holder: Holder) -> "NodeState":
        """The node with `holder` in its book, in place of any entry of the same Pod."""
        return replace(self, holders=MappingProxyType({**self.holders, holder.request.uid: holder}))

    def without(self, *uids: PodUid) -> "NodeState":
        """The node without these Pods in its book."""
        left = {uid: holder for uid, holder in self.holders.items() if uid not in uids}
        return replace(self, holders=MappingProxyType(left))


def node_state(
    name: NodeName, rules: NodeRules = NodeRules(), topology: Topology | None = None, reserved: CpuSet = CpuSet()
) -> NodeState:
    """An empty node, counted by the align level that its label names (`numa` where none or unknown)."""
    package = rules.labels.get(ALIGN_LEVEL) == AlignLevel.PACKAGE
    align = AlignLevel.PACKAGE if package else AlignLevel.NUMA
    layout = None if topology is None else layout_of(topology, reserved, align)
    return NodeState(name, replace(rules, name=name), topology, layout, reserved)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """All nodes by name, and the labels of those namespaces that are known."""

    nodes: Mapping[NodeName, NodeState] = field(default_factory=lambda: MappingProxyType({}))
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))  # their labels

    def with_node(self, node: NodeState) -> "ClusterState":
        """The cluster with `node` in place of the one of the same name."""
        return replace(self, nodes=MappingProxyType({**self.nodes, node.name: node}))

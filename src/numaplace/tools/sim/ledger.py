"""The one owner of the state in a simulation, as the planner's keeper is in a cluster.

Every change goes through `decide.track.reduce`; node-level amounts follow along.
"""

from collections.abc import Mapping
from types import MappingProxyType

from numaplace.decide.rules import Company
from numaplace.decide.track import reduce
from numaplace.decide.track.events import PodBound, PodGranted, PodReleased
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState, NodeState
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.sim.amounts import AmountTable, Mask


class Ledger:
    """State, amounts and where each Pod is."""

    def __init__(self, state: ClusterState, settings: Settings) -> None:
        self.settings = settings
        self.table = AmountTable(tuple(state.nodes.values()), settings)
        self.company = Company(state)
        self.where: dict[PodUid, NodeName] = {}
        self._nodes, self._namespaces = dict(state.nodes), state.namespaces

    @property
    def nodes(self) -> Mapping[NodeName, NodeState]:
        """Every node as it is now."""
        return MappingProxyType(self._nodes)

    @property
    def state(self) -> ClusterState:
        """The whole cluster as it is now."""
        return ClusterState(MappingProxyType(dict(self._nodes)), self._namespaces)

    def fits(self, request: PodRequest) -> Mask:
        """The nodes whose rules and amounts let the Pod in, in the order of `table`."""
        return self.table.fits(request, self._nodes, self.company.around(request))

    def grant(self, request: PodRequest, node: NodeName, allocation: Allocation | None, at_s: float) -> NodeState:
        """Bind a Pod; the node as it is then. BrokenPromiseError if it takes what another Pod has."""
        refusal = self.take(request, node, allocation, at_s)
        if refusal is not None:
            raise BrokenPromiseError(f"Pod {request.full_name} was given what is taken: {refusal.sentence}")
        return self.nodes[node]

    def take(self, request: PodRequest, node: NodeName, allocation: Allocation | None, at_s: float) -> Refusal | None:
        """Bind a Pod, if nobody else has what it takes."""
        bound = PodBound(request, node, at_s) if allocation is None else PodGranted(request, allocation, at_s)
        refusal = self._step(node, bound)
        if refusal is not None:
            return refusal
        self.table.add(node, request, +1)
        self.where[request.uid] = node
        return None

    def release(self, uid: PodUid) -> NodeState | None:
        """Give back all that a Pod has; the node as it is then, None for a Pod that holds nothing."""
        node = self.where.pop(uid, None)
        if node is None:
            return None
        self.table.add(node, self.nodes[node].holders[uid].request, -1)
        self._step(node, PodReleased(uid, node))
        return self.nodes[node]

    def _step(self, name: NodeName, event: PodBound | PodGranted | PodReleased) -> Refusal | None:
        """Apply an event that concerns one node; that node alone is handed over, so the rest is not copied."""
        after = reduce(ClusterState({name: self._nodes[name]}), event)
        if isinstance(after, Refusal):
            return after
        self._nodes[name] = after.nodes[name]
        self.company.update(after.nodes[name])
        return None

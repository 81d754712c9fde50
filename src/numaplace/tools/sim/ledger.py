"""The one owner of the state in a simulation, as the planner's keeper is in a cluster.

Every change goes through `decide.track.reduce`; node-level amounts follow along.
"""

from collections.abc import Mapping

from numaplace.decide.track import reduce
from numaplace.decide.track.events import PodBound, PodGranted, PodReleased
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState, NodeState
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.sim.amounts import AmountTable


class Ledger:
    """State, amounts and where each Pod is."""

    def __init__(self, state: ClusterState, settings: Settings) -> None:
        self.state = state
        self.settings = settings
        self.table = AmountTable(tuple(state.nodes.values()), settings)
        self.where: dict[PodUid, NodeName] = {}

    @property
    def nodes(self) -> Mapping[NodeName, NodeState]:
        """Every node as it is now."""
        return self.state.nodes

    def grant(self, request: PodRequest, node: NodeName, allocation: Allocation | None, at_s: float) -> NodeState:
        """Bind a Pod; the node as it is then. BrokenPromiseError if it takes what another Pod has."""
        bound = PodBound(request, node, at_s) if allocation is None else PodGranted(request, allocation, at_s)
        return self._step(bound, request, node, +1)

    def release(self, uid: PodUid) -> NodeState | None:
        """Give back all that a Pod has; the node as it is then, None for a Pod that holds nothing."""
        node = self.where.get(uid)
        if node is None:
            return None
        request = self.nodes[node].holders[uid].request
        return self._step(PodReleased(uid, node), request, node, -1)

    def _step(
        self, event: PodBound | PodGranted | PodReleased, request: PodRequest, node: NodeName, sign: int
    ) -> NodeState:
        after = reduce(self.state, event)
        if isinstance(after, Refusal):
            raise BrokenPromiseError(f"Pod {request.full_name} was given what is taken: {after.sentence}")
        self.state = after
        self.table.add(node, request, sign)
        if sign > 0:
            self.where[request.uid] = node
        else:
            del self.where[request.uid]
        return after.nodes[node]

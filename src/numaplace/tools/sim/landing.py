"""How a decision is booked and told, the same for every contender.

Pods that nobody chooses devices for are counted by node; Pods that run already keep
what their allocation says.
"""

from collections.abc import Collection

from numaplace.decide.place import ask_of, least_width
from numaplace.model import keys
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import NodeState
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.tools.report.outcome import Landing
from numaplace.tools.sim.arrivals import Arrival
from numaplace.tools.sim.ledger import Ledger
from numaplace.tools.sim.scheduler import choose_node
from numaplace.wire.allocation import decode


def by_amounts(
    ledger: Ledger, arrival: Arrival, now_s: float, among: Collection[NodeName] | None = None
) -> Landing | None:
    """A Pod that is not ours: the least allocated node, `among` these if they are given; None if all refuse."""
    request = arrival.request
    name = choose_node(ledger, request, among=among)
    if name is None:
        return None
    ledger.grant(request, name, None, now_s)
    return Landing(request, name, at_s=now_s, until_s=arrival.leaves_s)


def where_it_runs(ledger: Ledger, arrival: Arrival, name: NodeName) -> Landing | Refusal:
    """A Pod that is bound: it has what its allocation says; without one, as many cards as it asks are blocked."""
    node = ledger.nodes.get(name)
    if node is None:
        return Refusal(Code.NODE_RULE, f"it is bound to node {name}, which is not among the nodes given", name)
    allocation = allocation_told(arrival, name)
    refusal = ledger.take(arrival.request, name, allocation, arrival.at_s)
    if refusal is not None:
        return refusal
    width = least(node, arrival.request)
    return Landing(arrival.request, name, allocation, None, (), width, arrival.at_s, arrival.leaves_s)


def allocation_told(arrival: Arrival, name: NodeName) -> Allocation | None:
    """What the Pod's annotation says it has on its node; InputError if that cannot be read."""
    text = arrival.pod.annotations.get(keys.ALLOCATION)
    if text is None:
        return None
    allocation = decode(text, f"Pod {arrival.request.full_name}: annotation {keys.ALLOCATION}")
    return allocation if allocation.node == name else None


def least(node: NodeState, request: PodRequest) -> int | None:
    """The fewest units that this request needs on this machine when it is empty."""
    return None if node.layout is None else least_width(node.layout, ask_of(request))

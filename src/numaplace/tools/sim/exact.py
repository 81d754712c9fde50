"""Contenders that place exactly on a node, as numaplace does, and differ in which node they take.

`numaplace` ranks nodes by the contract; the others are the simple orders that
schedulers use, for comparison on the same input.
"""

from collections import Counter
from collections.abc import Collection
from typing import Protocol

from numaplace.decide.place import HoldBack, NodeIndex, Placement, judge
from numaplace.model.cluster import NodeState
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.tools.report.outcome import Landing, Reason
from numaplace.tools.sim.arrivals import Arrival
from numaplace.tools.sim.landing import by_amounts, least, where_it_runs
from numaplace.tools.sim.ledger import Ledger
from numaplace.tools.sim.reasons import Asking
from numaplace.tools.sim.scheduler import refusal_of


class Search(Protocol):
    """Finds the node for a Pod of ours."""

    def best(self, request: PodRequest, closed: Collection[NodeName] = ()) -> Placement | None:
        """The best placement on any node that is not `closed`."""
        ...

    def why_not(self, request: PodRequest, closed: Collection[NodeName] = ()) -> Refusal:
        """Why there is none."""
        ...

    def update(self, node: NodeState) -> None:
        """Take note that this node changed."""
        ...


class Exact:
    """One search on one ledger."""

    def __init__(self, name: str, ledger: Ledger, search: Search, hold_back: HoldBack | None = None) -> None:
        self.name, self.ledger, self.search, self.hold_back = name, ledger, search, hold_back
        self.failures: Counter[str] = Counter()
        self._asking = Asking(ledger)

    def place(self, arrival: Arrival) -> Landing | Refusal:
        """Ours exactly, the others by amounts, bound ones where they are."""
        return self._place(arrival, arrival.at_s)

    def _place(self, arrival: Arrival, now_s: float) -> Landing | Refusal:
        request = arrival.request
        if request.bound_to is not None:
            return self._noted(where_it_runs(self.ledger, arrival, request.bound_to))
        if not request.is_planned:
            landing = by_amounts(self.ledger, arrival, now_s)
            return self._noted(landing) if landing else self._asking.once(request, self._why_not_by_amounts)
        closed = self._closed_to(request)
        placement = self.search.best(request, closed)
        if placement is not None:
            return self._landed(arrival, placement, now_s)
        if self.hold_back is not None:
            self.hold_back.refused(request)
        return self.search.why_not(request, closed) if closed else self._asking.once(request, self.search.why_not)

    def place_freed(self, arrival: Arrival, freed: Collection[NodeName], now_s: float) -> Landing | Refusal:
        """Only the freed nodes can have room now that they had not before, unless Pods on other nodes matter."""
        request = arrival.request
        if self.ledger.company.around(request) is not None:
            return self._place(arrival, now_s)
        if not request.is_planned:
            landing = by_amounts(self.ledger, arrival, now_s, freed)
            return self._noted(landing) if landing else self._asking.once(request, self._why_not_by_amounts)
        closed = self._closed_to(request)
        open_nodes = [self.ledger.nodes[name] for name in sorted(freed) if name not in closed]
        if not open_nodes:
            return self.search.why_not(request, closed)
        answers = [judge(node, request, self.ledger.settings) for node in open_nodes]
        found = [one for one in answers if isinstance(one, Placement)]
        refused = [one for one in answers if isinstance(one, Refusal)]
        return self._landed(arrival, min(found, key=lambda one: one.rank), now_s) if found else refused[0]

    def release(self, arrival: Arrival) -> NodeName | None:
        """Give back what the Pod has."""
        if self.hold_back is not None:
            self.hold_back.waits_no_more(arrival.request.uid)
        node = self.ledger.release(arrival.request.uid)
        if node is None:
            return None
        self.search.update(node)
        return node.name

    def reasons(self, request: PodRequest) -> tuple[Reason, ...]:
        """Every node's answer, grouped."""
        return self._asking.reasons(request)

    def _closed_to(self, request: PodRequest) -> Collection[NodeName]:
        return () if self.hold_back is None else self.hold_back.closed_to(request)

    def _landed(self, arrival: Arrival, answer: Placement, now_s: float) -> Landing:
        request, allocation = arrival.request, answer.allocation
        if self.hold_back is not None:
            self.hold_back.waits_no_more(request.uid)
        node = self.ledger.grant(request, allocation.node, allocation, now_s)
        self.search.update(node)
        width = least(node, request)
        return Landing(
            request, allocation.node, allocation, answer.rank.score, answer.parts, width, now_s, arrival.leaves_s
        )

    def _why_not_by_amounts(self, request: PodRequest) -> Refusal:
        return refusal_of(self.ledger, request)

    def _noted(self, answer: Landing | Refusal) -> Landing | Refusal:
        if isinstance(answer, Landing):
            self.search.update(self.ledger.nodes[answer.node])
        return answer


def numaplace(ledger: Ledger) -> Exact:
    """The contender that places as the planner does."""
    index = NodeIndex(ledger.state, ledger.settings)
    return Exact("numaplace", ledger, index, HoldBack(index))

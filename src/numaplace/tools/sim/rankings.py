"""Simple orders of nodes on top of the same exact placement: first fit, best fit, spread.

They answer what the contract's ranking is worth: same input, same place inside a
node, another node.
"""

from collections.abc import Callable, Collection, Hashable

import numpy as np

from numaplace.decide.place import Placement, place_on
from numaplace.decide.place.shape import shape_of
from numaplace.model.cluster import NodeState
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import CPU
from numaplace.tools.sim.amounts import AmountTable, Vector
from numaplace.tools.sim.exact import Exact
from numaplace.tools.sim.ledger import Ledger
from numaplace.tools.sim.scheduler import refusal_of

Order = Callable[[AmountTable, str], Vector]  # a number for each node, the least is tried first

_CPU_STEPS = 1 << 40  # a whole GPU weighs more than any amount of CPU


def first_fit(table: AmountTable, _gpu_resource: str) -> Vector:
    """In the order in which the nodes were given."""
    return np.arange(len(table.names), dtype=np.int64)


def best_fit(table: AmountTable, gpu_resource: str) -> Vector:
    """Fewest free GPUs first, then fewest free CPUs."""
    cards = table.free(gpu_resource) if gpu_resource in table.offered else np.zeros(len(table.names), np.int64)
    return cards * _CPU_STEPS + np.minimum(table.free(CPU), _CPU_STEPS - 1)


def spread(table: AmountTable, gpu_resource: str) -> Vector:
    """Most free GPUs first, then most free CPUs."""
    return -best_fit(table, gpu_resource)


class Ordered:
    """Tries nodes in one order until the exact placement says yes."""

    def __init__(self, ledger: Ledger, order: Order) -> None:
        self.ledger, self.order = ledger, order
        self._version = np.zeros(len(ledger.table.names), np.int64)
        self._refused: dict[Hashable, Vector] = {}  # by shape: the version of each node that said no

    def best(self, request: PodRequest, closed: Collection[NodeName] = ()) -> Placement | None:
        """The first placement in the order; these orders hold no node back."""
        ledger, table = self.ledger, self.ledger.table
        refused = self._refused.setdefault(shape_of(request), np.full(len(table.names), -1, np.int64))
        candidates = np.flatnonzero(ledger.fits(request) & (refused != self._version))
        order = self.order(table, ledger.settings.gpu_resource)
        for i in candidates[np.argsort(order[candidates], kind="stable")]:
            answer = place_on(ledger.nodes[table.names[i]], request, ledger.settings)
            if isinstance(answer, Placement):
                return answer
            refused[i] = self._version[i]
        return None

    def why_not(self, request: PodRequest, closed: Collection[NodeName] = ()) -> Refusal:
        """A refusal of the rules, or the exact one of a node that they admit."""
        ledger, table = self.ledger, self.ledger.table
        for i in np.flatnonzero(ledger.fits(request)):
            answer = place_on(ledger.nodes[table.names[i]], request, ledger.settings)
            if isinstance(answer, Refusal):
                return answer
        return refusal_of(ledger, request)

    def update(self, node: NodeState) -> None:
        """What the node refused before it may take now."""
        self._version[self.ledger.table.at[node.name]] += 1


ORDERS: dict[str, Order] = {"first-fit": first_fit, "best-fit": best_fit, "spread": spread}


def ranked(ledger: Ledger, name: str) -> Exact:
    """The contender of this name in ORDERS."""
    return Exact(name, ledger, Ordered(ledger, ORDERS[name]))

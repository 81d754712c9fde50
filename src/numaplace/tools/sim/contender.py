"""What every way of placing offers to the play, so that all of them see the same input."""

from collections import Counter
from collections.abc import Collection
from typing import Protocol

from numaplace.model.ids import NodeName
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.tools.report.outcome import Landing, Reason
from numaplace.tools.sim.arrivals import Arrival
from numaplace.tools.sim.ledger import Ledger


class Contender(Protocol):
    """Places Pods one after the other on its own ledger."""

    name: str
    ledger: Ledger
    failures: Counter[str]  # Pods that a kubelet refused after they were bound, by its reason

    def place(self, arrival: Arrival) -> Landing | Refusal:
        """Decide on all nodes, and book what was decided."""
        ...

    def place_freed(self, arrival: Arrival, freed: Collection[NodeName], now_s: float) -> Landing | Refusal:
        """Decide again for a Pod that fitted nowhere; only on `freed` has anything been given back since."""
        ...

    def release(self, arrival: Arrival) -> NodeName | None:
        """Give back what a Pod has, and name its node; None if it has nothing."""
        ...

    def reasons(self, request: PodRequest) -> tuple[Reason, ...]:
        """Why each node refuses, grouped; empty where it costs too much to ask all of them."""
        ...

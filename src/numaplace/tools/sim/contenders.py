"""Every way of placing by its name on the command line."""

from numaplace.model.cluster import ClusterState
from numaplace.model.settings import Settings
from numaplace.tools.sim.blind import kubelet, no_care
from numaplace.tools.sim.contender import Contender
from numaplace.tools.sim.exact import numaplace
from numaplace.tools.sim.ledger import Ledger
from numaplace.tools.sim.rankings import ORDERS, ranked

AGAINST = ("kubelet", "none", *ORDERS)  # what numaplace may be compared with


def contender(name: str, state: ClusterState, settings: Settings, seed: int) -> Contender:
    """A fresh contender on its own ledger; `seed` decides the ties of the blind ones."""
    ledger = Ledger(state, settings)
    if name == "kubelet":
        return kubelet(ledger, seed)
    if name == "none":
        return no_care(ledger, seed)
    return ranked(ledger, name) if name in ORDERS else numaplace(ledger)

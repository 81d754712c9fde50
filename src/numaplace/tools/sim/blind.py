"""Contenders without numaplace: a scheduler that counts by node, and the kubelet's answer to it.

A Pod that the kubelet fails is gone for good; its controller makes another, which is
scheduled anew. docs/explanation/kubelet-model.md argues bounds and tie-breaks.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from numaplace.model.allocation import Allocation
from numaplace.model.cluster import NodeState
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.pod import Pod
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import CpuMode, PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.report.outcome import Landing, Reason
from numaplace.tools.sim.arrivals import Arrival
from numaplace.tools.sim.kubelet import (
    MAX_NUMAS,
    Failure,
    start_with_managers,
    start_without_managers,
)
from numaplace.tools.sim.landing import least, where_it_runs
from numaplace.tools.sim.ledger import Ledger
from numaplace.tools.sim.reasons import Asking
from numaplace.tools.sim.scheduler import choose_node, refusal_of

MOST_TRIES = 10  # Pods that a controller makes for one place before the run gives up on it

Start = Callable[[NodeState, Pod, PodRequest, Settings], Allocation | Failure]


class Blind:
    """One kind of kubelet on every node."""

    def __init__(self, name: str, ledger: Ledger, start: Start, seed: int) -> None:
        self.name, self.ledger, self.start = name, ledger, start
        self.failures: Counter[str] = Counter()
        self.tries: Counter[PodUid] = Counter()
        self._random = random.Random(seed)
        self._asking = Asking(ledger)

    def place(self, arrival: Arrival) -> Landing | Refusal:
        """Bind where amounts allow it, until a kubelet takes the Pod or the tries are used up."""
        return self._place(arrival, arrival.at_s)

    def place_freed(self, arrival: Arrival, freed: Collection[NodeName], now_s: float) -> Landing | Refusal:
        """The scheduler looks at all nodes again; it does not know why the kubelet said no."""
        return self._place(arrival, now_s)

    def release(self, arrival: Arrival) -> NodeName | None:
        """Give back what the Pod has."""
        node = self.ledger.release(arrival.request.uid)
        return None if node is None else node.name

    def reasons(self, request: PodRequest) -> tuple[Reason, ...]:
        """Not asked: the scheduler itself does not know more than the refusal says."""
        return ()

    def _place(self, arrival: Arrival, now_s: float) -> Landing | Refusal:
        request, ledger = arrival.request, self.ledger
        if request.bound_to is not None:
            return where_it_runs(ledger, arrival, request.bound_to)
        most = MOST_TRIES if arrival.pod.owner else 1
        reason = ""
        while self.tries[request.uid] < most:
            name = choose_node(ledger, request, self._random.choice)
            if name is None:
                return self._asking.once(request, lambda asked: refusal_of(ledger, asked))
            started = self._start(ledger.nodes[name], arrival)
            if not isinstance(started, Failure):
                return self._landed(arrival, name, started, now_s)
            self.tries[request.uid] += 1
            self.failures[started.reason] += 1
            reason = started.reason
        return Refusal(Code.NOT_ALIGNABLE, f"{most} Pods in a row were bound and then failed: {reason or 'see above'}")

    def _start(self, node: NodeState, arrival: Arrival) -> Allocation | Failure | None:
        if node.topology is None:
            return None  # nobody knows what happens inside
        if self.start is start_with_managers and len(node.topology.numas) > MAX_NUMAS:
            return Failure(f"kubelet does not start with more than {MAX_NUMAS} NUMA domains")
        return self.start(node, arrival.pod, arrival.request, self.ledger.settings)

    def _landed(self, arrival: Arrival, name: NodeName, allocation: Allocation | None, now_s: float) -> Landing:
        request = arrival.request
        self.ledger.grant(as_it_runs(request, allocation), name, allocation, now_s)
        width = least(self.ledger.nodes[name], request)
        return Landing(request, name, allocation, None, (), width, now_s, arrival.leaves_s)


def as_it_runs(request: PodRequest, allocation: Allocation | None) -> PodRequest:
    """The request as this node books it: CPUs that nobody pinned float."""
    if allocation is not None and allocation.cpus:
        return request
    return replace(request, cpu_mode=CpuMode.FLOATING, cpus=0, shared_cpu_milli=request.rules.amounts.cpu_milli)


def kubelet(ledger: Ledger, seed: int) -> Blind:
    """Stock scheduler, kubelet with `single-numa-node` and static CPUs."""
    return Blind("kubelet", ledger, start_with_managers, seed)


def no_care(ledger: Ledger, seed: int) -> Blind:
    """Stock scheduler, kubelet without managers."""
    return Blind("none", ledger, start_without_managers, seed)

"""Node-level amounts of a whole cluster as vectors: what kube-scheduler counts, and all that it counts.

Serves whoever chooses nodes without looking inside them: Pods that are not ours,
the topology-blind schedulers of comparisons, and the first cut of simple rankings.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from numaplace.decide.rules import Around, check_node, check_present, node_rules_key
from numaplace.model.cluster import NodeState
from numaplace.model.ids import NodeName
from numaplace.model.request import PodRequest
from numaplace.model.rules import CPU, MEMORY, PODS, Amounts
from numaplace.model.settings import Settings

UNTOLD = 2**62  # a node that does not tell an amount is not judged by it; no amount counts as more

Vector = NDArray[np.int64]
Mask = NDArray[np.bool_]


class AmountTable:
    """What each node offers and what is asked of it; one entry a node, in the order given."""

    def __init__(self, nodes: Sequence[NodeState], settings: Settings) -> None:
        self.names: tuple[NodeName, ...] = tuple(node.name for node in nodes)
        self.at: dict[NodeName, int] = {name: i for i, name in enumerate(self.names)}
        self.offered: dict[str, Vector] = _offered(nodes)
        self.asked: dict[str, Vector] = {name: np.zeros(len(nodes), np.int64) for name in self.offered}
        self._nodes = nodes
        self._settings = settings
        self._admitted: dict[Hashable, Mask] = {}  # by what the rules read of a Pod; labels of nodes stay
        self._untold = np.array([node.rules.allocatable is None for node in nodes], np.bool_)
        for node in nodes:
            for holder in node.holders.values():
                self.add(node.name, holder.request, 1)

    def add(self, name: NodeName, request: PodRequest, sign: int) -> None:
        """Count a Pod on a node (`sign` 1), or no longer (-1)."""
        i = self.at[name]
        for resource, amount in _asks(request.rules.amounts).items():
            if resource in self.asked:
                self.asked[resource][i] += sign * amount

    def free(self, resource: str) -> Vector:
        """What each node has left of a resource that some node offers."""
        return self.offered[resource] - self.asked[resource]

    def fits(self, request: PodRequest, nodes: Mapping[NodeName, NodeState], around: Around | None) -> Mask:
        """The nodes whose rules and amounts let the Pod in; the same answer as `decide.rules.check` of each."""
        mask = self.admitted(request).copy()
        for resource, amount in _asks(request.rules.amounts).items():
            if amount <= 0:
                continue
            mask &= self.free(resource) >= amount if resource in self.offered else self._untold
        if around is not None:
            for i in np.flatnonzero(mask):
                mask[i] = around.refuse(nodes[self.names[i]].rules) is None
        if request.rules.ports or request.rules.spreads:
            for i in np.flatnonzero(mask):
                node = nodes[self.names[i]]
                mask[i] = check_present(request, node.rules, node.requests, self._settings) is None
        return mask

    def admitted(self, request: PodRequest) -> Mask:
        """The nodes whose labels, taints and cordon let the Pod in."""
        shape = node_rules_key(request)
        if shape not in self._admitted:
            answers = [check_node(request, node.rules, self._settings) is None for node in self._nodes]
            self._admitted[shape] = np.array(answers, np.bool_)
        return self._admitted[shape]


def _asks(amounts: Amounts) -> dict[str, int]:
    asked = {CPU: amounts.cpu_milli, MEMORY: amounts.memory_bytes, PODS: 1, **amounts.others}
    return {name: min(amount, UNTOLD) for name, amount in asked.items()}


def _offered(nodes: Sequence[NodeState]) -> dict[str, Vector]:
    told = [node.rules.allocatable for node in nodes]
    names = {CPU, MEMORY, *(name for one in told if one is not None for name in one.others)}
    rows = {name: np.full(len(nodes), UNTOLD, np.int64) for name in (*sorted(names), PODS)}
    for i, (node, one) in enumerate(zip(nodes, told, strict=True)):
        if one is not None:
            for name in names:
                amount = {CPU: one.cpu_milli, MEMORY: one.memory_bytes}.get(name, one.others.get(name, 0))
                rows[name][i] = min(amount, UNTOLD)
        if node.rules.max_pods is not None:
            rows[PODS][i] = node.rules.max_pods
    return rows

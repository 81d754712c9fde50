"""A scheduler that counts amounts by node and never looks inside one, as the stock one does.

Places Pods that are not ours, and all Pods in comparisons with what there is without
numaplace. docs/explanation/kubelet-model.md says what is modelled and what is not.
"""

from collections.abc import Callable, Collection, Sequence

import numpy as np

from numaplace.decide.rules import check
from numaplace.model.ids import NodeName
from numaplace.model.refusal import NO_NODE, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import CPU, MEMORY
from numaplace.tools.sim.amounts import UNTOLD, AmountTable, Vector
from numaplace.tools.sim.ledger import Ledger

# What a Pod without requests counts as in the score (kube-scheduler, NodeResourcesFit).
_USUAL_CPU_MILLI, _USUAL_MEMORY_BYTES = 100, 200 << 20
_POINTS = 100

Tie = Callable[[Sequence[int]], int]


def first_of(tied: Sequence[int]) -> int:
    """The tie-break of a run that is its own only witness: the first node."""
    return tied[0]


def choose_node(
    ledger: Ledger, request: PodRequest, tie: Tie = first_of, among: Collection[NodeName] | None = None
) -> NodeName | None:
    """The node that the Pod is bound to: of those (`among` them) that let it in, the one that is least allocated."""
    table, open_nodes = ledger.table, np.flatnonzero(ledger.fits(request))
    if among is not None:
        open_nodes = np.array([i for i in open_nodes if table.names[i] in among], np.int64)
    if not len(open_nodes):
        return None
    scores = least_allocated(table, request)[open_nodes]
    tied = open_nodes[scores == scores.max()]
    return table.names[tie(tied.tolist())]


def least_allocated(table: AmountTable, request: PodRequest) -> Vector:
    """0..100 for each node: the mean share of CPU and memory that stays free, rounded down as Kubernetes does."""
    amounts = request.rules.amounts
    return (
        _share_left(table, CPU, amounts.cpu_milli or _USUAL_CPU_MILLI)
        + _share_left(table, MEMORY, amounts.memory_bytes or _USUAL_MEMORY_BYTES)
    ) // 2


def _share_left(table: AmountTable, resource: str, amount: int) -> Vector:
    offered = table.offered[resource]
    left = np.maximum(0, table.free(resource) - amount)
    shares = left.astype(np.float64) * _POINTS / np.maximum(1, offered)
    return np.where(offered < UNTOLD, shares.astype(np.int64), 0)


def refusal_of(ledger: Ledger, request: PodRequest) -> Refusal:
    """The refusal of one node, that which comes last in the order of codes, for a Pod that none lets in."""
    around, nodes = ledger.company.around(request), ledger.nodes.values()
    answers = (check(request, node.rules, node.requests, ledger.settings, around) for node in nodes)
    return max(filter(None, answers), key=lambda refusal: refusal.code.precedence, default=NO_NODE)

"""Closures: which nodes are closed to whom for now, beside what their books and rules say.

A node is set aside for Pods like one whose plan failed there, or held back for the one
that waits longest. Whatever ends a closure tells which nodes are open again by it.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from numaplace.decide.place import HoldBack, NodeIndex
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.aside import Aside


class Closures:
    """Nodes that are set aside, and the one that is held back."""

    def __init__(self, clock: Callable[[], float], pause_s: float) -> None:
        self._aside = Aside(clock, pause_s)
        self._hold_back: HoldBack | None = None

    def closed_to(self, index: NodeIndex, request: PodRequest) -> set[NodeName]:
        """The nodes of the index that the Pod must leave alone now."""
        return {*self._aside.closed_to(request), *self.held_back_from(index, request)} & index.rows.position.keys()

    def held_back_from(self, index: NodeIndex, request: PodRequest) -> Collection[NodeName]:
        """The node that is kept for a Pod before it in the order."""
        return self._holding_back(index).closed_to(request)

    def put_aside(self, request: PodRequest, node: NodeName, *, briefly: bool = False) -> None:
        """A plan for this Pod failed on this node."""
        self._aside.put(request, node, briefly=briefly)

    def refused(self, index: NodeIndex, request: PodRequest) -> frozenset[NodeName]:
        """The Pod waits, and may have a node held back for it; those that are open again."""
        return _known(self._holding_back(index).refused(request))

    def waits_no_more(self, uid: PodUid) -> frozenset[NodeName]:
        """No node is held back for the Pod; those that are open again."""
        return frozenset() if self._hold_back is None else _known(self._hold_back.waits_no_more(uid))

    def expire(self) -> frozenset[NodeName]:
        """The nodes that are open again because a pause is over."""
        return self._aside.expire()

    def reworded(self, refusal: Refusal, request: PodRequest) -> Refusal:
        """A node that is set aside is not held back for anybody."""
        if refusal.code is not Code.HELD_BACK or refusal.node not in self._aside.closed_to(request):
            return refusal
        sentence = f"node {refusal.node} would do, but a plan for a Pod like this failed there; it is tried again soon"
        return replace(refusal, sentence=sentence)

    def _holding_back(self, index: NodeIndex) -> HoldBack:
        if self._hold_back is None:
            self._hold_back = HoldBack(index)
        return self._hold_back


def _known(node: NodeName | None) -> frozenset[NodeName]:
    return frozenset() if node is None else frozenset((node,))

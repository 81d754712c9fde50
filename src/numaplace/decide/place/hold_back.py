"""Holding one node back for the oldest Pod that waits, so that smaller ones cannot starve it.

Off unless `Settings.holds_node_back`: without it every Pod that fits may go ahead.
One Pod at a time is helped, and one node closed to the Pods behind it.
"""

from collections.abc import Collection

from numaplace.decide.place.ask import ask_of
from numaplace.decide.place.choose import choose
from numaplace.decide.place.index import NodeIndex
from numaplace.decide.place.room import empty_room, room_of
from numaplace.decide.rules import check_node
from numaplace.model.cluster import NodeState
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.request import PodRequest


class HoldBack:
    """Which node is held back, and for whom; told of every refusal and of whoever no longer waits."""

    def __init__(self, index: NodeIndex) -> None:
        self._index = index
        self._owner: PodRequest | None = None
        self._node: NodeName | None = None

    def closed_to(self, request: PodRequest) -> Collection[NodeName]:
        """The nodes that `request` must leave alone: the one held back, for Pods behind its owner in the order."""
        if self._owner is None or self._node is None or request.order <= self._owner.order:
            return ()
        return (self._node,)

    def refused(self, request: PodRequest) -> NodeName | None:
        """`request` waits: the first that does, or one before it in the order, gets the node it can have soonest.

        Returned is the node that was held back until now, which is open to the others again.
        """
        if not self._index.settings.holds_node_back or not request.is_planned:
            return None
        if self._owner is None or request.order < self._owner.order:
            node, before = self._soonest(request), self._node
            if node is not None:
                self._owner, self._node = request, node
                return before
        return None

    def waits_no_more(self, uid: PodUid) -> NodeName | None:
        """The Pod has a place, or is gone; the node that was held back for it, open to the others now."""
        if self._owner is None or self._owner.uid != uid:
            return None
        node, self._owner, self._node = self._node, None, None
        return node

    def _soonest(self, request: PodRequest) -> NodeName | None:
        """Of the nodes that would take the Pod when empty, the one with the most free GPUs, then CPUs, then name."""
        able = [node for node in self._index.nodes.values() if self._would_take(node, request)]
        return min(able, key=_taken, default=NodeState(NodeName(""))).name or None

    def _would_take(self, node: NodeState, request: PodRequest) -> bool:
        if node.layout is None or node.stale or check_node(request, node.rules, self._index.settings) is not None:
            return False
        return choose(empty_room(node.layout), ask_of(request)) is not None


def _taken(node: NodeState) -> tuple[int, int, NodeName]:
    room = room_of(node)
    return (-room.gpus.bit_count(), -sum(room.gives), node.name)

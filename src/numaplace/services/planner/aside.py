"""Nodes that are left alone for a while by Pods of one kind, because a plan for one of them failed there.

The scheduler, or the API server, knew a reason that the node rules do not know; without
a pause the next plan would be the same again. Or the scheduler only had not heard yet
what came free there: then a moment is enough.
"""

from collections.abc import Callable, Hashable

from numaplace.decide.place.shape import shape_of
from numaplace.model.ids import NodeName
from numaplace.model.request import PodRequest

_BRIEFLY_S = 1.0


class Aside:
    """Until when which node is not for whom."""

    def __init__(self, clock: Callable[[], float], pause_s: float) -> None:
        self._clock, self._pause_s = clock, pause_s
        self._until: dict[tuple[Hashable, NodeName], float] = {}

    def put(self, request: PodRequest, node: NodeName, *, briefly: bool = False) -> None:
        """A plan for this Pod failed on this node; what was set aside for long stays so."""
        key = shape_of(request, repelled=False), node
        until_s = self._clock() + (min(_BRIEFLY_S, self._pause_s) if briefly else self._pause_s)
        self._until[key] = max(until_s, self._until.get(key, until_s))

    def closed_to(self, request: PodRequest) -> tuple[NodeName, ...]:
        """The nodes that Pods like this one leave alone now."""
        if not self._until:
            return ()
        shape = shape_of(request, repelled=False)
        return tuple(node for (kind, node), until_s in self._until.items() if kind == shape and until_s > self._clock())

    def expire(self) -> frozenset[NodeName]:
        """The nodes on which a pause ended since this was asked last."""
        over = [key for key, until_s in self._until.items() if until_s <= self._clock()]
        for key in over:
            del self._until[key]
        return frozenset(node for _, node in over)

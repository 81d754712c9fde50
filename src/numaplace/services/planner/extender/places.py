"""Places: what a scheduler that asks wants of the planner, for one Pod at a time and at once.

Most often the place was planned before; else it is planned now, by the same `Planner`
on the same book, or planned again where the scheduler has it otherwise.
"""

from collections.abc import Collection

from numaplace.decide.place import place_on
from numaplace.model.allocation import Allocation
from numaplace.model.ids import NodeName
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.carrier import Carrier
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.notices import Notices
from numaplace.services.planner.planner import Planner


class Places:
    """The places that one planner has for Pods whose scheduler asks."""

    def __init__(self, planner: Planner, keeper: Keeper, carrier: Carrier, notices: Notices) -> None:
        self.planner, self._keeper, self._carrier, self._notices = planner, keeper, carrier, notices

    def answer(self, pod: LivePod) -> Allocation | Refusal | None:
        """The Pod's place, planned now if it has none; None if it is busy or at rest."""
        self.planner.hear()
        promised = self._keeper.promised(pod.uid)
        if promised is not None:
            return promised
        if isinstance(pod.asks, Refusal):
            self._notices.refused(pod, pod.asks)
            return pod.asks
        waiting = self.planner.waiting
        if pod.uid not in waiting:
            return None
        return waiting.answer(pod.uid) or self.planner.plan(pod.asks) or waiting.last(pod.uid)

    def failed(self, pod: LivePod, node: NodeName, left: Collection[NodeName]) -> Allocation | None:
        """The scheduler's own rules refuse the promised node: a place on one that is `left`, or None for now."""
        self.planner.stuck(pod, node)
        if not isinstance(pod.asks, PodRequest) or self._carrier.is_busy(pod.uid):
            return None
        index = self.planner.ready_index()
        everybody = index.rows.position.keys()
        closed = (everybody - set(left)) | (everybody & self.planner.closures.held_back_from(index, pod.asks))
        placement = index.best(pod.asks, closed)
        return None if placement is None else self.planner.hold(pod.asks, placement)

    def move(self, pod: LivePod, node: NodeName) -> Allocation | Refusal:
        """The scheduler puts the Pod on this node: its place there, promised now if it was promised another or none."""
        self.planner.hear()
        promised, state = self._keeper.promised(pod.uid), self._keeper.node(node)
        if promised is not None and promised.node == node:
            return promised
        if isinstance(pod.asks, Refusal):
            return pod.asks
        if state is None:
            return Refusal(Code.NODE_RULE, f"node {node} is not known", node)
        answer = place_on(state, pod.asks, self._keeper.settings)
        if isinstance(answer, Refusal):
            return answer
        return self.planner.hold(pod.asks, answer)

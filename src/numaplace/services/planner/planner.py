"""Planner: the way of one Pod, from "it waits" to "it is bound", read from top to bottom.

It hears the keeper's news, plans whoever is due, and hands each plan to `Carrier`.
Nothing happens while nothing changes.
"""

import asyncio
from collections.abc import Callable, Collection

from numaplace.decide.place import NodeIndex, Placement
from numaplace.model.allocation import Allocation
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod, Stage, unpinned
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.carrier import Carrier
from numaplace.services.planner.closures import Closures
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.metrics import Metrics
from numaplace.services.planner.news import (
    Altered,
    Arrived,
    Broken,
    Freed,
    Joined,
    Left,
    News,
    Renamed,
    Resumes,
    Strayed,
    Stuck,
    Unhinted,
    Waits,
)
from numaplace.services.planner.notices import Notices
from numaplace.services.planner.overdue import Overdue
from numaplace.services.planner.rests import Rests
from numaplace.services.planner.waiting import Waiting

LOOKS = 50  # Pods that are looked at in one step to see whether what came free is for them: 1 ms or two


class Planner:
    """Decides who goes where; one task, woken whenever `changed` is set."""

    def __init__(
        self,
        keeper: Keeper,
        carrier: Carrier,
        notices: Notices,
        metrics: Metrics,
        limits: Limits,
        clock: Callable[[], float],
        changed: asyncio.Event,
    ) -> None:
        self._keeper, self._carrier, self._notices, self._metrics = keeper, carrier, notices, metrics
        self._limits = limits
        self.waiting = Waiting()
        self.closures, self._rests = Closures(clock, limits.aside_s), Rests(clock)
        self._overdue = Overdue(clock, limits.ungate_after_s)
        self._changed = changed

    async def pass_time(self) -> None:
        """Look at what only time changes, for ever."""
        while True:
            await asyncio.sleep(self._limits.tick_s)
            self.tick()

    def tick(self) -> None:
        """Look at it once."""
        self._keeper.pass_time()
        self.hear()  # nobody waits here who is there no more
        self._notices.repeat()
        self.waiting.wake(self.closures.expire())
        self.waiting.refresh()
        for uid in self._rests.take_rested():
            if uid in self._keeper.pods and self._keeper.promised(uid) is None:
                self._waits(self._keeper.pods[uid])
        for uid in self._overdue.take():
            if uid in self.waiting:
                self._carrier.lift(self._keeper.pods[uid])
        self._changed.set()

    async def run(self) -> None:
        """Plan for ever, one Pod at a time, with a breath for everyone else in between."""
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self.step():
                await asyncio.sleep(0)
            self._metrics.waiting.set(len(self.waiting))
            self._metrics.outstanding.set(len(self._carrier.outstanding))

    def step(self) -> bool:
        """Hear the news, then plan the first who is due and has hope; False when there is nothing to do now."""
        self.hear()
        index = self.ready_index()
        if self._carrier.count_young(self._limits.stuck_s) >= self._limits.outstanding:
            return False
        for _ in range(LOOKS):
            request = self.waiting.next()
            if request is None:
                return False
            if self._hopes_or_spares(index, request):
                break
        else:
            return True
        allocation = self._plan(index, request)
        if allocation is not None:
            self._carrier.carry(self._keeper.pods[request.uid], request, allocation)
        return True

    def _hopes_or_spares(self, index: NodeIndex, request: PodRequest) -> bool:
        """Whether a plan is worth the try: where one of those nodes takes the Pod that were freed since its answer.

        If not, all who ask alike are spared it, and wait on with the answer they have.
        """
        hopes = self.waiting.hopes(request.uid)
        if hopes is None or index.takes(request, hopes - self.closures.closed_to(index, request)):
            return True
        self.waiting.spare(request)
        return False

    def _plan(self, index: NodeIndex, request: PodRequest) -> Allocation | None:
        """The best node there is, held at once; or the answer for all who ask alike."""
        with self._metrics.planning.time():
            closed = self.closures.closed_to(index, request)
            placement = index.best(request, closed)
            if placement is not None:
                self._metrics.plans.labels("placed").inc()
                return self.hold(request, placement)
            self._refuse(index, request, closed)
            return None

    def _refuse(self, index: NodeIndex, request: PodRequest, closed: Collection[NodeName]) -> None:
        """Nobody who asks the same has a place now; they are told."""
        self._metrics.plans.labels("refused").inc()
        self.waiting.wake(self.closures.refused(index, request))
        refusal = self.closures.reworded(index.why_not(request, closed), request)
        for one in self.waiting.refused(request, refusal):
            self._tell(self._keeper.pods[one.uid], refusal)

    def _tell(self, pod: LivePod, refusal: Refusal) -> None:
        """The Pod waits, and its people know why."""
        self._notices.refused(pod, refusal)
        self._overdue.refused(pod)

    def hold(self, request: PodRequest, placement: Placement) -> Allocation:
        """From here on the place is the Pod's; BrokenPromiseError, and it waits on, when it cannot be held."""
        allocation = self._keeper.dated(placement.allocation)
        refusal = self._keeper.hold(request, allocation)
        if refusal is not None:
            raise BrokenPromiseError(f"a place was planned for Pod {request.full_name}, but {refusal.sentence}")
        self._no_longer_waits(request.uid)
        return allocation

    def plan(self, request: PodRequest) -> Allocation | None:
        """Plan a Pod that waits out of its turn; None: its answer is that of all who ask alike."""
        index = self.ready_index()
        return self._plan(index, request) if self._hopes_or_spares(index, request) else None

    def why(self, pod: LivePod) -> Refusal | None:
        """Why a Pod has no place, as of the last look; None if it has one, or is not ours to place."""
        return pod.asks if isinstance(pod.asks, Refusal) else self.waiting.last(pod.uid)

    def hint(self, pod: LivePod, allocation: Allocation) -> None:
        """Tell the scheduler of the Pod's place, unless that is being done."""
        if isinstance(pod.asks, PodRequest) and not self._carrier.is_busy(pod.uid):
            self._carrier.carry(pod, pod.asks, allocation)

    def hear(self) -> None:
        """Take in what the keeper has to tell."""
        while told := self._keeper.news():  # what is heard may lead to more
            for news in told:
                self._hear(news)

    def ready_index(self) -> NodeIndex:
        """The index as of now, and those who wait told apart by what matters in it."""
        index = self._keeper.refresh()
        self.waiting.mind_labels(index.company.repels)
        return index

    # --- what the keeper tells

    def _hear(self, news: News) -> None:
        match news:
            case Waits(pod):
                self._waits(pod)
            case Resumes(pod, allocation) if isinstance(pod.asks, PodRequest):
                self._no_longer_waits(pod.uid)
                self._carrier.carry(pod, pod.asks, allocation, hinted=True)
            case Broken(pod, why):
                self._carrier.mend(pod, why)
            case Altered(pod, allocation):
                self._carrier.restore(pod, allocation)
            case Strayed(pod):
                self._notices.strayed(pod)
            case Arrived(pod):
                self._carrier.arrived(pod.uid)
                self._notices.placed(pod)
            case Stuck(pod, node):
                self.stuck(pod, node)
            case Unhinted(pod, allocation):
                self.hint(pod, allocation)
            case Left(uid, stage):
                self._left(uid, stage)
            case Freed() | Joined() | Renamed():
                if isinstance(news, Freed):
                    self._carrier.room_came(news.nodes)
                self.waiting.hear(news, self._keeper.namespaces)

    def _left(self, uid: PodUid, stage: Stage) -> None:
        self._no_longer_waits(uid)
        self._notices.forget(uid)
        self._rests.forget(uid)
        if stage in (Stage.ENDED, Stage.FOREIGN):
            self._carrier.gone(uid)

    def _waits(self, pod: LivePod) -> None:
        if self._carrier.is_busy(pod.uid):
            self._carrier.look_later(pod.uid)  # its plan is being carried out or given up, or it is let go
            return
        if self._carrier.has_left(pod):
            return
        if self.waiting.asked_by(pod.uid) == pod.asks:
            return  # it changed in nothing that matters; most often it was we who told it why it waits
        self._carrier.gone(pod.uid)
        self._leave_queue(pod.uid)
        if self._rests.resting(pod.uid):
            return
        if isinstance(pod.asks, Refusal):
            self._notices.refused(pod, pod.asks)
        elif not pod.asks.is_planned:
            self._carrier.lift(pod)
        elif (refusal := self.waiting.add(pod.asks)) is not None:
            self._tell(pod, refusal)

    def stuck(self, pod: LivePod, node: NodeName) -> None:
        """The scheduler says no to the node: leave it alone. The Pod is planned again, or must go if it cannot be."""
        now = self._keeper.pods.get(pod.uid)
        if now is None or now.stage not in (Stage.WAITS, Stage.OPEN, Stage.RELEASED):
            return  # it is bound by now, and what it was promised is its own; the gate may be older news than the word
        self._metrics.failures.labels("stuck").inc()
        if pod.stays_open:
            failures = self._rests.failed(pod.uid)
            if isinstance(pod.asks, PodRequest):  # the scheduler may only hear late what came free
                self.closures.put_aside(pod.asks, node, briefly=failures == 1)
            self._keeper.release(pod.uid)
            self._waits(pod)
            return
        if isinstance(pod.asks, PodRequest):
            self.closures.put_aside(unpinned(pod.asks, node), node)
        why = f"the scheduler does not take node {node}, which was planned and cannot be changed any more"
        self._carrier.give_up(pod, why)

    def plan_failed(self, request: PodRequest, node: NodeName) -> None:
        """The API server does not accept the plan: another node, and this one not for a while."""
        self.closures.put_aside(request, node)

    def _no_longer_waits(self, uid: PodUid) -> None:
        self._leave_queue(uid)
        self._overdue.forget(uid)

    def _leave_queue(self, uid: PodUid) -> None:
        """The Pod is not planned as it stood there; the node that was held back for it is open to all again."""
        self.waiting.remove(uid)
        self.waiting.wake(self.closures.waits_no_more(uid))

"""Carrier: makes a plan true in the cluster: the patches that end the wait, until the Pod is bound.

Each plan is one task. Every write may fail, happen without an answer, or meet a Pod
that changed: then the Pod is read again and its state says what is next.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from functools import partial

from numaplace.adapters.kube import Backoff, ConflictError, InvalidError, KubeError, NotFoundError
from numaplace.decide.place import Placement, place_on
from numaplace.model.allocation import Allocation
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod, Stage
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.metrics import Metrics
from numaplace.services.planner.notices import Notices
from numaplace.services.planner.writes import Writes

_LOG = logging.getLogger(__name__)
_DEFINITE = 3  # how often the API server may say that a plan is wrong before it is believed

Write = Callable[[], Awaitable[bool | None]]
Act = Callable[[], None]
Failed = Callable[[PodRequest, NodeName], None]


@dataclass(frozen=True, slots=True)
class Pause:
    """How to wait between attempts; tests bring a sleep that does not."""

    sleep: Callable[[float], Awaitable[None]]
    draw: Callable[[], float]


class Carrier:
    """Carries plans out; `failed` is told of those that the API server does not accept, `again` when to look anew."""

    def __init__(
        self,
        keeper: Keeper,
        writes: Writes,
        notices: Notices,
        metrics: Metrics,
        group: asyncio.TaskGroup,
        pause: Pause,
        writes_at_once: int,
    ) -> None:
        self._keeper, self._writes, self._notices, self._metrics = keeper, writes, notices, metrics
        self._group, self._pause = group, pause
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Semaphore(writes_at_once)  # of the writes that belong to no plan: nothing else bounds them
        self.outstanding: dict[PodUid, float] = {}  # plans under way, and when they began
        self._busy: dict[PodUid, list[Act]] = {}  # Pods that a task writes to now, and what is to be done then
        self._homeless: dict[PodUid, tuple[NodeName, Refusal]] = {}  # bare, and without a place where they must stay
        self.failed: Failed = lambda *_: None
        self.again: Callable[[], None] = lambda: None

    # --- the usual way

    def carry(self, pod: LivePod, request: PodRequest, allocation: Allocation, *, hinted: bool = False) -> None:
        """Begin; the plan counts as outstanding until the Pod is bound, gone or given up."""
        self.outstanding[pod.uid] = self._loop.time()  # of a Pod that is planned anew, the latest plan
        self._when_free(pod.uid, lambda: self._begin(pod.uid, self._carry(pod, request, allocation, hinted)))

    async def _carry(self, pod: LivePod, request: PodRequest, allocation: Allocation, hinted: bool) -> None:
        """End the wait, again and again until it is done or the plan is no good any more.

        The pin does what a hint does, and more. A Pod that had to wait wants room that is scarce, and its condition
        must change anyway: there a hint comes first and keeps the room (docs/decisions/0014). A Pod whose plan stays
        open has the hint alone.
        """
        backoff, wrong = Backoff(), 0
        told = await self._notices.settle(pod.uid)
        while self._is_good(pod, allocation):
            try:
                if not hinted and _needs_hint(told(pod), allocation.node):
                    await self._writes.hint(told(pod), allocation)
                    hinted = True
                    continue
                if pod.gates:
                    await self._writes.ungate(pod, request, allocation)
                self._done(pod.uid)
                return
            except NotFoundError:
                self._hand_over(pod, None)
                return
            except KubeError as error:
                wrong = wrong + 1 if isinstance(error, ConflictError | InvalidError) else 0
                self._fails("plan", pod, error)
            if wrong >= _DEFINITE:
                self.failed(request, allocation.node)
                break
            backoff = backoff.failed()
            await self._pause.sleep(backoff.delay_s(self._pause.draw()))
            try:
                found = await self._reread(pod)
            except KubeError as error:
                self._fails("read", pod, error)
                continue
            if found is None or found.stage not in (Stage.WAITS, Stage.OPEN):
                self._hand_over(pod, found)
                return
            if found.asks != request:
                self._keeper.see_pod(found)  # which ends the promise, unless only its claims differ
            pod, hinted = found, (found.hint, found.allocation) == (allocation.node, allocation)
        self._take_back(pod, allocation)

    async def _reread(self, pod: LivePod) -> LivePod | None:
        """The Pod as it is now, None when it is gone; once more where the watch, meanwhile, told what may be newer."""
        while (known := self._keeper.pods.get(pod.uid)) is not None:
            found = await self._writes.reread(pod, self._keeper.settings)
            if self._keeper.pods.get(pod.uid) is known:
                return found
        return None

    def _is_good(self, pod: LivePod, allocation: Allocation) -> bool:
        """Whether the promise still stands, and the node's rules with it: the last look before it is too late."""
        return self._keeper.promised(pod.uid) == allocation and self._keeper.keeps_rules(pod.uid)

    def _hand_over(self, pod: LivePod, found: LivePod | None) -> None:
        """The Pod is past its gate, or gone: what it is now counts."""
        if found is None:
            self._keeper.lose_pod(pod.uid)
        else:
            self._keeper.see_pod(found)
        self._done(pod.uid)

    def _take_back(self, pod: LivePod, allocation: Allocation) -> None:
        """The plan is void: if the Pod still waits, it waits for another."""
        if self._keeper.promised(pod.uid) == allocation:
            self._keeper.release(pod.uid)
        self.outstanding.pop(pod.uid, None)
        self.look_later(pod.uid)
        self._done(pod.uid)

    def look_later(self, uid: PodUid) -> None:
        """Look at the Pod anew as soon as nothing is written to it: it may wait again."""
        self._when_free(uid, partial(self._look, uid))

    def _look(self, uid: PodUid) -> None:
        known = self._keeper.pods.get(uid)
        if known is not None and known.stage in (Stage.WAITS, Stage.OPEN):
            self._keeper.see_pod(known)

    def arrived(self, uid: PodUid) -> None:
        """The Pod is bound."""
        began_s = self.outstanding.pop(uid, None)
        if began_s is not None:
            self._metrics.binding.observe(self._loop.time() - began_s)

    def gone(self, uid: PodUid) -> None:
        """The Pod ended, or is in other hands; a task that still writes to it ends by itself."""
        self._homeless.pop(uid, None)
        if uid not in self._busy:
            self.outstanding.pop(uid, None)

    def is_busy(self, uid: PodUid) -> bool:
        """Whether something is being written to the Pod."""
        return uid in self._busy

    def count_young(self, within_s: float) -> int:
        """The plans that are being written, or that the scheduler has had for less than `within_s`.

        One that it has had for longer does not slow it down: most likely its volumes are being made.
        """
        since_s = self._loop.time() - within_s
        return sum(1 for uid, began_s in self.outstanding.items() if began_s > since_s or uid in self._busy)

    def has_left(self, pod: LivePod) -> bool:
        """Whether its plan is past the gate for good, whatever the watch told of it so far."""
        return pod.uid in self.outstanding and not pod.stays_open

    # --- the other ways

    def lift(self, pod: LivePod) -> None:
        """Let a Pod go that asks nothing of ours."""
        self._once(pod, lambda: self._writes.lift_gate(pod))

    def mend(self, pod: LivePod, why: Refusal) -> None:
        """Give a Pod that cannot leave its node something else there, or give it up."""
        self._metrics.failures.labels("clash").inc()
        self._when_free(pod.uid, lambda: self._mend(pod.uid, why))

    def room_came(self, nodes: Collection[NodeName]) -> None:
        """Something was given back on these nodes: who must stay there and found no place is looked at again."""
        for uid, (node, why) in list(self._homeless.items()):
            if node in nodes:
                self._when_free(uid, partial(self._mend, uid, why))

    def _mend(self, uid: PodUid, why: Refusal) -> None:
        told = self._homeless.pop(uid, None) is not None
        pod = self._keeper.pods.get(uid)
        at = None if pod is None else pod.node or pod.destination
        node = None if at is None else self._keeper.node(at)
        if pod is None or node is None or pod.stage is Stage.ENDED or isinstance(pod.asks, Refusal):
            return
        holder = node.holders.get(uid)
        if holder is not None and holder.allocation is not None and holder.allocation == pod.allocation:
            return  # by now it has what it says
        answer = place_on(node.without(uid), pod.asks, self._keeper.settings)
        if not isinstance(answer, Placement):
            if not pod.owned:
                self._homeless[uid] = node.name, why
            if not told:
                self.give_up(pod, f"{why.sentence}; {answer.sentence}")
            return
        book = self._keeper.hold if pod.node is None else self._keeper.grant
        allocation = self._keeper.dated(answer.allocation)
        if book(pod.asks, allocation) is None:
            self._once(pod, lambda: self._writes.correct(pod, allocation))
            self._notices.corrected(pod, why)

    def restore(self, pod: LivePod, allocation: Allocation) -> None:
        """Write again what a Pod has that cannot leave its node."""
        self._metrics.failures.labels("altered").inc()
        _LOG.warning("an allocation was changed by another hand", extra={"pod": pod.full_name})
        self._once(pod, lambda: self._writes.correct(pod, allocation))

    def give_up(self, pod: LivePod, why: str) -> None:
        """Nothing can be done for the Pod: people are told, and one that is owned goes so that another is made."""
        self.outstanding.pop(pod.uid, None)
        self._notices.given_up(pod, why)
        if pod.owned:
            self._once(pod, lambda: self._evict(pod))

    async def _evict(self, pod: LivePod) -> bool:
        """Ask the Pod to go, unless the scheduler has taken it after all while we could not ask."""
        now = self._keeper.pods.get(pod.uid)
        return (now is not None and now.node != pod.node) or await self._writes.evict(pod)

    def _once(self, pod: LivePod, write: Write) -> None:
        """Begin to write to a Pod as soon as nothing else does."""
        self._when_free(pod.uid, lambda: self._begin(pod.uid, self._until_done(pod, write)))

    def _begin(self, uid: PodUid, task: Coroutine[None, None, None]) -> None:
        self._busy[uid] = []
        self._group.create_task(task)

    def _when_free(self, uid: PodUid, act: Act) -> None:
        """Now, or as soon as nothing else is written to the Pod; then in the order of the wishes."""
        if uid in self._busy:
            self._busy[uid].append(act)
        else:
            act()

    def _done(self, uid: PodUid) -> None:
        """The task that wrote to the Pod is over: what came up meanwhile is done now."""
        acts = self._busy.pop(uid, [])
        known = self._keeper.pods.get(uid)
        if known is None or known.stage in (Stage.ENDED, Stage.FOREIGN):
            self.outstanding.pop(uid, None)
        for act in acts if known is not None else ():  # the first that writes begins; the others wait for it again
            self._when_free(uid, act)
        self.again()

    async def _until_done(self, pod: LivePod, write: Write) -> None:
        """One write, repeated until it is done (its answer is not False) or the Pod is gone."""
        backoff = Backoff()
        while pod.uid in self._keeper.pods:
            try:
                async with self._turn:
                    done = await write()
                if done is not False:
                    break
            except (NotFoundError, ConflictError, InvalidError) as error:
                self._fails("write", pod, error)
                break
            except KubeError as error:
                self._fails("write", pod, error)
            backoff = backoff.failed()
            await self._pause.sleep(backoff.delay_s(self._pause.draw()))
        self._done(pod.uid)

    def _fails(self, what: str, pod: LivePod, error: KubeError) -> None:
        self._metrics.failures.labels(what).inc()
        _LOG.warning("a write to a Pod failed", extra={"pod": pod.full_name, "what": what, "error": str(error)})


def _needs_hint(pod: LivePod, node: NodeName) -> bool:
    """Whether the Pod gets no pin, had to wait, or is hinted to another node by a planner before us."""
    return pod.stays_open or pod.has_condition or pod.hint not in (None, node)

"""Notices: what people are told of a Pod, in its condition and by events.

Once for each code: the numbers are those of the moment the code changed. Written
beside the planning, a few at a time, and never in its way.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from numaplace.adapters.kube import Backoff, KubeError, NotFoundError, StatusError
from numaplace.model.ids import PodUid
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Refusal
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.writes import Writes

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 5

REFUSED, PLACED, STRAYED, CORRECTED, GIVEN_UP = "NumaRefused", "NumaPlaced", "NumaStrayed", "NumaCorrected", "NumaStuck"


@dataclass(slots=True)
class _Told:
    """The last refusal of one Pod."""

    pod: LivePod
    refusal: Refusal
    at_s: float
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)  # the Pod's, held while its condition is written


class Notices:
    """Who was told what."""

    def __init__(
        self,
        writes: Writes,
        limits: Limits,
        group: asyncio.TaskGroup,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._writes, self._limits, self._group, self._clock, self._sleep = writes, limits, group, clock, sleep
        self._turn = asyncio.Semaphore(limits.writes)
        self.told: dict[PodUid, _Told] = {}

    def refused(self, pod: LivePod, refusal: Refusal) -> None:
        """The Pod has no place; written unless it says so already."""
        before = self.told.get(pod.uid)
        if before is not None and before.refusal.code is refusal.code:
            return
        told = self.told[pod.uid] = _Told(pod, refusal, self._clock())
        if before is not None:
            told.writing = before.writing  # one after the other, so that the last word stays
        if before is None and pod.refused_with == refusal.code:
            return  # told before we were started
        self._group.create_task(self._write_refusal(told))

    async def _write_refusal(self, told: _Told) -> None:
        pod, refusal = told.pod, told.refusal

        async def condition() -> None:
            async with told.writing:
                await self._writes.refuse(pod, refusal)

        if await self._say(condition, told):
            self._event(pod, REFUSED, f"{refusal.code}: {refusal.sentence}")  # also where it waits no more by now

    async def settle(self, uid: PodUid) -> Callable[[LivePod], LivePod]:
        """The Pod has a place: let a refusal that is being written end; gives the Pod with its condition noted.

        One that is still to be written is dropped when its turn comes.
        """
        told = self.told.pop(uid, None)
        if told is None:
            return lambda pod: pod
        async with told.writing:
            return lambda pod: replace(pod, has_condition=True)

    def repeat(self) -> None:
        """Say again what was said long ago, since events expire."""
        latest_s = self._clock() - self._limits.repeat_s
        for told in self.told.values():
            if told.at_s <= latest_s:
                told.at_s = self._clock()
                self._event(told.pod, REFUSED, f"{told.refusal.code}: {told.refusal.sentence}")

    def forget(self, uid: PodUid) -> None:
        """The Pod waits no more."""
        self.told.pop(uid, None)

    def placed(self, pod: LivePod) -> None:
        """A Pod that had to wait is bound."""
        node = pod.node
        if node is not None and pod.refused_with:
            self._group.create_task(self._say(lambda: self._writes.placed(pod, node)))
        if pod.has_condition:
            self._event(pod, PLACED, f"placed on node {pod.node}", good=True)

    def strayed(self, pod: LivePod) -> None:
        """A Pod is on another node than the planned one."""
        planned = "another node" if pod.allocation is None else f"node {pod.allocation.node}"
        self._event(
            pod, STRAYED, f"bound to node {pod.node}, but planned for {planned}: its CPUs and cards are not chosen"
        )

    def corrected(self, pod: LivePod, why: Refusal) -> None:
        """A Pod got something else on its node."""
        self._event(pod, CORRECTED, f"got another place on its node: {why.sentence}")

    def given_up(self, pod: LivePod, why: str) -> None:
        """A plan cannot be made true."""
        remedy = "it is evicted so that its owner makes another" if pod.owned else "delete it and create it again"
        self._event(pod, GIVEN_UP, f"{why}; {remedy}")

    def _event(self, pod: LivePod, reason: str, note: str, *, good: bool = False) -> None:
        at_s = self._writes.now_s()
        self._group.create_task(self._say(lambda: self._writes.event(pod, reason, note, at_s, good=good)))

    async def _say(self, write: Callable[[], Awaitable[None]], told: _Told | None = None) -> bool:
        """One write when its turn comes, a few attempts; whether it is done. A word that is out of date is dropped."""
        backoff = Backoff()
        for _ in range(_ATTEMPTS):
            async with self._turn:
                if told is not None and self.told.get(told.pod.uid) is not told:
                    return False
                try:
                    await write()
                    return True
                except NotFoundError:
                    return False
                except KubeError as error:
                    _LOG.warning("a notice was not written", extra={"error": str(error)})
                    if isinstance(error, StatusError) and error.code < 429:
                        return False
            backoff = backoff.failed()
            await self._sleep(backoff.delay_s(0.0))
        return False

"""The planner's writes to the API server, one function a write.

All but events may be sent twice: a lost answer is followed by the same patch again.
Each names the UID, so that another Pod of the same name is never touched.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import perf_counter

import msgspec

from numaplace.adapters.kube import (
    About,
    EventType,
    Key,
    Kube,
    KubeError,
    NotFoundError,
    Reporter,
    evict,
    post_event,
    strategic,
)
from numaplace.adapters.kube.resources import PODS
from numaplace.model.allocation import Allocation
from numaplace.model.ids import NodeName
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.services.planner.metrics import Metrics
from numaplace.wire import live_pod as wire
from numaplace.wire.pod_object import PodObject

_CONTROLLER = "numaplace.dev/planner"


class DeposedError(KubeError):
    """Nothing is written by a planner that does not hold the Lease."""


class Writes:
    """What the planner does to Pods, while it `may`; errors are KubeErrors."""

    def __init__(
        self, kube: Kube, metrics: Metrics, wall: Callable[[], float], instance: str, may: Callable[[], bool]
    ) -> None:
        self._kube, self._metrics, self._wall, self._may = kube, metrics, wall, may
        self._reporter = Reporter(_CONTROLLER, instance)

    async def hint(self, pod: LivePod, allocation: Allocation) -> None:
        """Say where the Pod is to go and what it gets there."""
        await self._patch("hint", pod, wire.hint(pod, allocation, self._now()), "status", once=True)

    async def ungate(self, pod: LivePod, request: PodRequest, allocation: Allocation) -> None:
        """Say what the Pod gets, and let the scheduler have it for the planned node only.

        Sent once: what cannot be undone is looked at again before the next attempt.
        """
        await self._patch("ungate", pod, wire.ungate(pod, request, allocation), once=True)

    async def lift_gate(self, pod: LivePod) -> None:
        """Let the scheduler have a Pod that asks nothing of ours."""
        await self._patch("lift", pod, wire.lift_gate(pod.uid))

    async def correct(self, pod: LivePod, allocation: Allocation) -> None:
        """Another allocation for a Pod that cannot leave its node."""
        await self._patch("correct", pod, wire.corrected(pod, allocation), once=True)

    async def refuse(self, pod: LivePod, refusal: Refusal) -> None:
        """Say in the Pod's condition why it has no place."""
        await self._patch("refuse", pod, wire.refused(pod, refusal, self._now()), "status")

    async def placed(self, pod: LivePod, node: NodeName) -> None:
        """Say in the condition of a Pod that is bound that it waits no more."""
        await self._patch("placed", pod, wire.placed(pod, node, self._now()), "status")

    async def evict(self, pod: LivePod) -> bool:
        """Ask the Pod to go, so that its owner makes another; False while a disruption budget forbids it."""
        with self._timed("evict"):
            return await evict(self._kube, Key(pod.namespace, pod.name), uid=pod.uid)

    async def event(self, pod: LivePod, reason: str, note: str, at_s: float, *, good: bool = False) -> None:
        """Tell people what happened to the Pod at a time (seconds since 1970); saying it twice is no second event."""
        about = About(PODS, pod.namespace, pod.name, pod.uid)
        kind = EventType.NORMAL if good else EventType.WARNING
        with self._timed("event"):
            await post_event(
                self._kube, about, self._reporter, kind=kind, reason=reason, action="Plan", note=note, at_s=at_s
            )

    async def reread(self, pod: LivePod, settings: Settings) -> LivePod | None:
        """The Pod of this UID as it is now, or None when it is gone; KubeError where it cannot be read."""
        try:
            body = await self._kube.get(PODS, pod.name, pod.namespace)
        except NotFoundError:
            return None
        try:
            found = wire.live_pod_of(msgspec.json.decode(body, type=PodObject), settings)
        except msgspec.DecodeError as error:
            raise KubeError(f"Pod {pod.full_name} is no Pod: {error}") from error
        return found if found.uid == pod.uid else None

    async def _patch(
        self, what: str, pod: LivePod, change: wire.Change, subresource: str = "", *, once: bool = False
    ) -> None:
        with self._timed(what):
            await self._kube.patch(
                PODS, pod.name, strategic(change), pod.namespace, subresource=subresource, repeatable=True, once=once
            )

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        if not self._may():
            raise DeposedError("this planner does not lead any more")
        began_s = perf_counter()
        yield
        self._metrics.writes.labels(what).observe(perf_counter() - began_s)

    def now_s(self) -> float:
        """Seconds since 1970."""
        return self._wall()

    def _now(self) -> str:
        return datetime.fromtimestamp(self._wall(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

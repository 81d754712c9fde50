"""Pods that have waited at the gate longer than a limit, and so long that an autoscaler should see them.

Autoscalers look at Pods that the scheduler could not place, and it never tries one that
is gated. Only Pods whose scheduler asks the extender face may leave the gate without a
plan, since nobody else would keep them from going anywhere.
"""

from collections.abc import Callable

from numaplace.model.ids import PodUid
from numaplace.model.live_pod import LivePod


class Overdue:
    """Who was refused, and when first; without a limit nobody is ever overdue."""

    def __init__(self, clock: Callable[[], float], limit_s: float | None) -> None:
        self._clock, self._limit_s = clock, limit_s
        self._since_s: dict[PodUid, float] = {}  # in the order of the refusals

    def refused(self, pod: LivePod) -> None:
        """The Pod was refused, perhaps once more."""
        if self._limit_s is not None and pod.gates and pod.asked:
            self._since_s.setdefault(pod.uid, self._clock())

    def forget(self, uid: PodUid) -> None:
        """The Pod waits no more."""
        self._since_s.pop(uid, None)

    def take(self) -> list[PodUid]:
        """Those who waited long enough; each is told once."""
        if self._limit_s is None:
            return []
        latest_s = self._clock() - self._limit_s
        over = [uid for uid, since_s in self._since_s.items() if since_s <= latest_s]
        for uid in over:
            del self._since_s[uid]
        return over

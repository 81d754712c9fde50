"""How long Pods whose plans failed wait before they are planned again, so that a plan that cannot work is no loop.

Only for Pods that the scheduler tries whenever it is told of a new node; the others
wait at the gate, where nothing happens to them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from numaplace.model.ids import PodUid

_FIRST_S = 1.0
_LONGEST_S = 60.0


@dataclass(slots=True)
class _Rest:
    failures: int
    until_s: float


class Rests:
    """Who rests, and until when: not at all after the first failure, then for 1 s, 2 s, 4 s up to a minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rests: dict[PodUid, _Rest] = {}

    def failed(self, uid: PodUid) -> int:
        """Another plan of this Pod failed; how many there were."""
        failures = self._rests[uid].failures + 1 if uid in self._rests else 1
        pause_s = min(_FIRST_S * 2 ** min(failures - 2, 10), _LONGEST_S) if failures > 1 else 0.0
        self._rests[uid] = _Rest(failures, self._clock() + pause_s)
        return failures

    def resting(self, uid: PodUid) -> bool:
        """Whether the Pod is to be left alone now."""
        rest = self._rests.get(uid)
        return rest is not None and rest.until_s > self._clock()

    def take_rested(self) -> list[PodUid]:
        """Those whose rest ended since this was asked last."""
        rested = [uid for uid, rest in self._rests.items() if 0.0 < rest.until_s <= self._clock()]
        for uid in rested:
            self._rests[uid].until_s = 0.0  # told once
        return rested

    def forget(self, uid: PodUid) -> None:
        """The Pod has arrived or is gone."""
        self._rests.pop(uid, None)

"""Election: which of several planners plans, by one Lease that only one of them can hold.

Time is counted on each planner's own steady clock: what the Lease says of times is
for people. A planner that could not renew stops before another may begin.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from numaplace.adapters.kube import ConflictError, Key, Kube, KubeError, Lease, read_lease, write_lease

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One planner: its name, and where others reach its pages ("" if nowhere)."""

    name: str
    address: str = ""

    @property
    def holder(self) -> str:
        """How the Lease names it: name@address."""
        return f"{self.name}@{self.address}"


def candidate_of(holder: str) -> Candidate:
    """Whom a Lease names."""
    name, _, address = holder.rpartition("@")
    return Candidate(name, address) if name else Candidate(holder)


@dataclass(frozen=True, slots=True)
class Times:
    """How long a Lease is good for others, how long its holder believes in it, and how often it is looked at.

    A planner that is killed is followed after `lease_s` and at most two looks.
    """

    lease_s: int = 10
    believed_s: float = 7.0  # shorter than the Lease: writes that are under way end in between
    look_s: float = 2.0

    @classmethod
    def of(cls, lease_s: int) -> "Times":
        """The usual proportions for a Lease of this length."""
        return cls(lease_s, believed_s=0.7 * lease_s, look_s=0.2 * lease_s)


class Election:
    """Takes part until it is cancelled; `leads` may be asked at any moment."""

    def __init__(
        self,
        kube: Kube,
        lease: Key,
        me: Candidate,
        times: Times,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
        notes: Mapping[str, str] = MappingProxyType({}),  # what the holder's Lease says besides
    ) -> None:
        self._kube, self._key, self._me, self._times, self._notes = kube, lease, me, times, notes
        self._clock, self._wall = clock, wall
        self._lease: Lease | None = None  # as we wrote it last; None: read it first
        self._until_s = float("-inf")  # how long we may believe to lead
        self._rival: tuple[Lease, float] | None = None  # another's Lease, and when we saw it change last
        self._turn = asyncio.Condition()
        self._terms = 0  # how often we began to lead

    @property
    def leads(self) -> bool:
        """Whether this planner may plan and write now."""
        return self._clock() < self._until_s

    @property
    def leader(self) -> Candidate | None:
        """Who leads, as far as this planner knows."""
        if self.leads:
            return self._me
        return candidate_of(self._rival[0].holder) if self._rival is not None else None

    async def elected(self) -> None:
        """Return when this planner leads."""
        async with self._turn:
            await self._turn.wait_for(lambda: self.leads)

    async def deposed(self) -> None:
        """Return when this planner leads no more, or led no more for a moment: somebody else may have in between."""
        term = self._terms
        while self._terms == term and (left_s := self._until_s - self._clock()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s), self._turn:
                    await self._turn.wait()

    async def run(self) -> None:
        """Hold the Lease, or wait until it is free, for ever."""
        while True:
            try:
                async with asyncio.timeout(self._times.believed_s):
                    await self._look()
            except (KubeError, TimeoutError) as error:
                self._lease = None
                _LOG.warning("the Lease is out of reach", extra={"lease": "/".join(self._key), "error": str(error)})
            await asyncio.sleep(self._times.look_s)

    async def resign(self) -> None:
        """Give the Lease up, so that the next planner need not wait; call it when nothing is written any more.

        It is read first: a renewal that was under way when we were told to end may have been done.
        """
        self._until_s, self._lease = float("-inf"), None
        try:
            async with asyncio.timeout(self._times.look_s):
                found = await read_lease(self._kube, self._key)
                if found is not None and found.holder == self._me.holder:
                    await write_lease(self._kube, self._key, replace(found, holder="", renewed_s=self._wall()))
        except (KubeError, TimeoutError) as error:
            _LOG.warning("the Lease runs out by itself", extra={"error": str(error)})

    async def _look(self) -> None:
        """One look: renew what is ours, take what is free or was left, note whose it is otherwise."""
        began_s = self._clock()
        found = self._lease or await read_lease(self._kube, self._key)
        if found is not None and not self._is_free(found, began_s):
            self._until_s = float("-inf")
            await self._tell()
            return
        try:
            self._lease = await write_lease(self._kube, self._key, self._renewed(found))
        except ConflictError:
            self._lease = None
            return  # somebody was faster; the next look shows who
        if not self.leads:
            self._terms += 1
            _LOG.info("leads", extra={"lease": "/".join(self._key), "holder": self._me.holder})
        self._until_s, self._rival = began_s + self._times.believed_s, None
        await self._tell()

    async def _tell(self) -> None:
        """Those who wait for a turn of things look again."""
        async with self._turn:
            self._turn.notify_all()

    def _is_free(self, found: Lease, now_s: float) -> bool:
        """Whether the Lease is ours, nobody's, or was not renewed for its duration under our eyes."""
        if found.holder in ("", self._me.holder):
            return True
        seen, at_s = self._rival or (None, now_s)
        if seen is None or seen.version != found.version:
            self._rival = found, now_s
            return False
        return now_s >= at_s + found.duration_s

    def _renewed(self, found: Lease | None) -> Lease:
        now_s, mine = self._wall(), self._me.holder
        if found is None:
            return Lease(mine, self._times.lease_s, acquired_s=now_s, renewed_s=now_s, notes=self._notes)
        if found.holder == mine:
            return replace(found, duration_s=self._times.lease_s, renewed_s=now_s, notes=self._notes)
        return Lease(mine, self._times.lease_s, now_s, now_s, found.transitions + 1, found.version, self._notes)

"""The planner's process: everything wired together, run until it is told to end.

Every planner follows the cluster; the one that holds the Lease plans. A term of
leading begins with the book made anew from what the API server shows, so nothing
is handed over but the Lease. Any other task that fails ends the process with it.
"""

import asyncio
import gc
import logging
import random
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from numaplace.adapters.kube import Access, Key, Kube, Patience
from numaplace.model.errors import InputError
from numaplace.model.keys import SETTINGS
from numaplace.model.settings import Settings
from numaplace.services.planner.carrier import Carrier, Pause
from numaplace.services.planner.election import Candidate, Election, Times
from numaplace.services.planner.extender import Door, DoorAddress, Extender, Places
from numaplace.services.planner.face import Face
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.metrics import Metrics
from numaplace.services.planner.notices import Notices
from numaplace.services.planner.planner import Planner
from numaplace.services.planner.watches import Watches
from numaplace.services.planner.writes import Writes
from numaplace.wire.settings import Told, encode

_LOG = logging.getLogger(__name__)
LEASE = "numaplace-planner"
# Nearly all that the planner holds lives long, and nothing of it in cycles: looking for rubbish in it takes a third of
# the time of a start, and a tenth of that of a burst.
_RARELY = (100_000, 20, 100)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the pages are shown, and by which HOST:PORT other planners reach them ("": the same)."""

    host: str = "127.0.0.1"
    port: int = 8480
    advertised: str = ""

    @property
    def known_as(self) -> str:
        """HOST:PORT for others."""
        return self.advertised or (f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}")


@dataclass(frozen=True, slots=True)
class Seat:
    """What the planners of one cluster compete for, and under which name this one does."""

    lease: Key
    name: str = ""
    times: Times = Times()


async def serve(
    access: Access, settings: Settings, limits: Limits, address: Address, seat: Seat, door: DoorAddress | None = None
) -> None:
    """Plan, or stand by, until SIGTERM or SIGINT."""
    gc.set_threshold(*_RARELY)
    async with Kube(access, connections=limits.outstanding + 2 * limits.writes) as kube:
        running = asyncio.create_task(run(kube, settings, limits, seat, address, door=door))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        try:
            await running
        except asyncio.CancelledError:
            _LOG.info("ended")


async def run(
    kube: Kube,
    settings: Settings,
    limits: Limits,
    seat: Seat,
    address: Address | None,
    wall: Callable[[], float] = time.time,
    door: DoorAddress | None = None,
) -> None:
    """Plan, or stand by, until cancelled; no pages without an address, no answers to schedulers without a door.

    `wall` tells seconds since 1970.
    """
    process = Process(kube, settings, limits, seat, address, wall)
    try:
        await process.run(door)
    except* InputError as errors:
        raise errors.exceptions[0] from None


class Process:
    """The parts that live as long as the process, and the terms of leading one after the other."""

    def __init__(
        self,
        kube: Kube,
        settings: Settings,
        limits: Limits,
        seat: Seat,
        address: Address | None,
        wall: Callable[[], float],
    ) -> None:
        self._kube, self._limits, self._address = kube, limits, address
        me = Candidate(seat.name or socket.gethostname(), "" if address is None else address.known_as)
        said = {SETTINGS: encode(Told(settings, limits.silent_s))}
        # Connections of its own: a renewal waits for no other write.
        self._lease_kube = Kube(kube.access, connections=1, sleep=kube.sleep, draw=kube.draw)
        self._election = Election(
            self._lease_kube, seat.lease, me, seat.times, clock=_awake_or_not, wall=wall, notes=said
        )
        self._metrics = Metrics()
        self._keeper = Keeper(settings, limits, clock=time.monotonic, wall=wall)
        self._writes = Writes(kube, self._metrics, wall, me.name, lambda: self._election.leads)
        self._changed = asyncio.Event()
        self._watches = Watches(kube, self._keeper, self._metrics, self._changed)
        self._planner: Planner | None = None  # of the present term
        self._places: Places | None = None

    async def run(self, door: DoorAddress | None) -> None:
        """Follow, show, answer the scheduler and take part in the election, for ever."""
        face = Face(self._keeper, lambda: self._planner, self._metrics, lambda: self._watches.missing)
        async with self._lease_kube:
            await self._run(face, door)

    async def _run(self, face: Face, door: DoorAddress | None) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for forever in (*self._watches.all(), self._lead()):
                    group.create_task(forever)
                if door is not None:
                    group.create_task(self._answer(door))
                runner = None if self._address is None else await face.serve(self._address.host, self._address.port)
                try:
                    await self._election.run()
                finally:
                    if runner is not None:
                        await runner.cleanup()
        finally:
            await self._election.resign()

    async def _answer(self, address: DoorAddress) -> None:
        """Answer kube-scheduler, with connections of its own: a Binding waits for no hint."""
        patience = Patience(self._limits.extender_deadline_s, self._limits.extender_deadline_s / 2)
        async with Kube(self._kube.access, patience=patience, sleep=self._kube.sleep, draw=self._kube.draw) as kube:
            extender = Extender(self._keeper, lambda: self._places if self._election.leads else None, kube)
            await Door(extender, address, self._limits, self._metrics, self._leader_host).run()

    def _leader_host(self) -> str | None:
        """Where another planner that leads can be reached."""
        leader = self._election.leader
        if leader is None or self._election.leads or not leader.address:
            return None
        return leader.address.rpartition(":")[0].strip("[]")

    async def _lead(self) -> None:
        """One term after the other, each from the Lease won to the Lease lost."""
        await self._watches.listed.wait()
        while True:
            await self._election.elected()
            self._keeper.open()
            _LOG.info("plans", extra={"nodes": len(self._keeper.state.nodes), "pods": len(self._keeper.pods)})
            try:
                async with asyncio.TaskGroup() as group:
                    await self._plan(group)
            except* _TermOverError:
                _LOG.warning("leads no more")
            finally:
                self._keeper.close()
                self._metrics.waiting.set(0)
                self._metrics.outstanding.set(0)

    async def _plan(self, group: asyncio.TaskGroup) -> None:
        """Plan and write; _TermOverError when the Lease is lost."""
        kube, limits, keeper, metrics = self._kube, self._limits, self._keeper, self._metrics
        notices = Notices(self._writes, limits, group, time.monotonic, kube.sleep)
        carrier = Carrier(
            keeper, self._writes, notices, metrics, group, Pause(kube.sleep, random.random), limits.writes
        )
        planner = Planner(keeper, carrier, notices, metrics, limits, time.monotonic, self._changed)
        carrier.failed, carrier.again = planner.plan_failed, self._changed.set
        self._planner, self._places = planner, Places(planner, keeper, carrier, notices)
        group.create_task(planner.run())
        group.create_task(planner.pass_time())
        try:
            await self._election.deposed()
            raise _TermOverError
        finally:  # before the group ends: what is asked from now on must not start anything in it
            self._planner = self._places = None


class _TermOverError(Exception):
    """The Lease is lost: all that plans and writes ends."""


def _awake_or_not() -> float:
    """Seconds that go on while the machine is suspended, as those of the other planners do."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)

"""The planner's process: everything wired together, run until it is told to end.

Any task that fails ends the process with it: what is durable is in the API server,
so a fresh start is the one way out of a state that nobody foresaw.
"""

import asyncio
import logging
import random
import signal
import socket
import time
from dataclasses import dataclass

from numaplace.adapters.kube import Access, Kube
from numaplace.model.settings import Settings
from numaplace.services.planner.carrier import Carrier, Pause
from numaplace.services.planner.face import Face
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.metrics import Metrics
from numaplace.services.planner.notices import Notices
from numaplace.services.planner.planner import Planner
from numaplace.services.planner.watches import Watches
from numaplace.services.planner.writes import Writes

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the pages are shown."""

    host: str = "127.0.0.1"
    port: int = 8480


async def serve(access: Access, settings: Settings, limits: Limits, address: Address) -> None:
    """Plan until SIGTERM or SIGINT."""
    async with Kube(access, connections=limits.outstanding + limits.writes) as kube:
        running = asyncio.create_task(run(kube, settings, limits, address))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        try:
            await running
        except asyncio.CancelledError:
            _LOG.info("ended")


async def run(kube: Kube, settings: Settings, limits: Limits, address: Address | None) -> None:
    """Plan until cancelled; without an address nothing is shown."""
    metrics = Metrics()
    keeper = Keeper(settings, limits, time.monotonic, time.time)
    writes = Writes(kube, metrics, time.time, socket.gethostname())
    async with asyncio.TaskGroup() as group:
        notices = Notices(writes, limits, group, time.monotonic, kube.sleep)
        carrier = Carrier(keeper, writes, notices, metrics, group, Pause(kube.sleep, random.random))
        planner = Planner(keeper, carrier, notices, metrics, limits, time.monotonic)
        carrier.failed, carrier.again = planner.plan_failed, planner.wake
        watches = Watches(kube, keeper, metrics, planner.wake)
        for forever in (watches.nodes(), watches.reports(), watches.pods(), planner.run()):
            group.create_task(forever)
        face = Face(keeper, planner.waiting, metrics, lambda: watches.missing)
        runner = None if address is None else await face.serve(address.host, address.port)
        try:
            while True:
                await asyncio.sleep(limits.tick_s)
                if keeper.is_open:
                    planner.pass_time()
        finally:
            if runner is not None:
                await runner.cleanup()

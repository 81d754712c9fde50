"""Rounds of trouble: two planners, one cluster, and in each round something dies, hangs or lies at a random moment.

One planner is a process that is killed and stopped; the other runs here, behind a proxy
that refuses, forgets answers and cuts watches, with a wall clock that jumps. Some Pods
belong to the stock scheduler, some to one that asks the planner as its extender, some
of those never see the gate. After each round every Pod has its own place, as an
independent reader of the API objects sees it.
"""

import asyncio
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from numaplace.adapters.kube import Key, Kube, KubeError, Patience
from numaplace.adapters.kube.fake import Answer, DropRequest, LoseAnswer
from numaplace.adapters.kube.resources import PODS
from numaplace.model.settings import Settings
from numaplace.services.planner import Address, DoorAddress, Limits, Seat, Times, run
from tests.cluster.control_plane import API_SERVER, SCHEDULER, ControlPlane
from tests.cluster.faulty_proxy import FaultyProxy
from tests.cluster.nodes import alike
from tests.cluster.planner_process import LEASE_KEY, PLANNER, PlannerProcess
from tests.cluster.programs import free_ports
from tests.cluster.scheduler_process import ASKING, SchedulerProcess, configuration, opted_out, waiting
from tests.cluster.stage import Stage, gated, gone, is_bound
from tests.services.planner.reader import allocation_of, double_grants, misplaced, things_of

NODES = 6
PODS_A_ROUND = 8
GRACE_S = 3.0
LIES = (
    Answer(409, "Conflict"),
    Answer(410, "Expired"),
    Answer(429, "TooManyRequests"),
    Answer(500, "InternalError"),
    Answer(503, "ServiceUnavailable"),
    LoseAnswer(),
    DropRequest(),
)


@dataclass
class Rounds:
    """The cluster and who acts in it; the same seed draws the same troubles."""

    plane: ControlPlane
    stage: Stage
    draw: random.Random
    process: PlannerProcess
    proxy: FaultyProxy
    asking: SchedulerProcess
    clock_error_s: float = 0.0
    troubles: Counter[str] = field(default_factory=Counter)
    placed: int = 0
    _number: int = 0

    def wall(self) -> float:
        """The clock of the planner that runs here."""
        return time.time() + self.clock_error_s

    async def round(self) -> None:
        """Make room, ask for Pods, cause trouble while they are planned, and look when all is done."""
        self._number += 1
        await self._make_room()
        names = [f"r{self._number}-{i}" for i in range(PODS_A_ROUND)]
        trouble = self.draw.choice(TROUBLES)
        self.troubles[trouble.__name__.strip("_")] += 1
        await self._cause(trouble, self.draw.randrange(PODS_A_ROUND), self.draw.choice([*POINTS]), names)
        pods = await self.stage.until(
            lambda pods: set(names) <= {pod["metadata"]["name"] for pod in pods if is_bound(pod)}
        )
        self.placed += len(names)
        assert double_grants(pods) == []
        assert misplaced(pods) == []
        assert all(len([one for one in things_of(pod) if "gpu" in one]) == 2 for pod in pods)

    async def _make_room(self) -> None:
        pods = await self.stage.pods()
        self.draw.shuffle(pods)
        for pod in pods[: max(0, len(pods) + PODS_A_ROUND - 4 * NODES)]:
            await gone(self.stage.admin, PODS, Key(self.stage.space, named(pod)), grace_s=0)

    async def _cause(self, trouble: "Trouble", seen: int, point: str, names: list[str]) -> None:
        """Ask for the Pods, and cause the trouble when so many of them have come so far."""
        await self.stage.add(*(self.draw.choice(KINDS)(name, cpus=self.draw.choice((8, 12))) for name in names))
        come = POINTS[point]
        with suppress(TimeoutError):  # they may have come to a halt before that; then it is caused late
            async with asyncio.timeout(5):
                await self.stage.until(lambda pods: sum(named(pod) in names and come(pod) for pod in pods) >= seen)
        await trouble(self)

    # --- what goes wrong

    async def _planner_is_killed(self) -> None:
        self.process.kill()
        await asyncio.sleep(self.draw.random())
        self.process.start()

    async def _planner_hangs(self) -> None:
        """Longer than its Lease is good: it wakes up and believes to lead for a moment."""
        self.process.running.send_signal(signal.SIGSTOP)
        await asyncio.sleep(1 + 3 * self.draw.random())
        self.process.running.send_signal(signal.SIGCONT)

    async def _planner_is_told_to_end(self) -> None:
        await asyncio.to_thread(self.process.end)
        self.process.start()

    async def _scheduler_is_killed(self) -> None:
        self.plane.kill(SCHEDULER)
        await asyncio.sleep(self.draw.random())
        await self.plane.start(SCHEDULER)

    async def _asking_scheduler_is_killed(self) -> None:
        self.asking.kill()
        await asyncio.sleep(self.draw.random())
        self.asking.start()  # the planner here hangs meanwhile

    async def _api_server_is_killed(self) -> None:
        self.plane.kill(API_SERVER)
        await self.plane.start(API_SERVER)

    async def _api_server_lies(self) -> None:
        """To the planner that runs here; it leads, as the other one is away for as long."""
        for _ in range(self.draw.randrange(1, 6)):
            path = self.draw.choice(("/pods/", "/status", "/events", "/leases", "/pods"))
            method = self.draw.choice(("PATCH", "PATCH", "GET", "POST", "PUT"))
            self.proxy.fail(self.draw.choice(LIES), method, path, self.draw.randrange(1, 4))
        await self._planner_is_killed()
        self.proxy.faults.clear()

    async def _watches_are_cut(self) -> None:
        self.proxy.cut_watches()

    async def _clock_jumps(self) -> None:
        self.clock_error_s = self.draw.choice((-3600.0, -30.0, 0.0, 30.0, 3600.0))


Trouble = Callable[[Rounds], Awaitable[None]]
TROUBLES: tuple[Any, ...] = (
    Rounds._planner_is_killed,
    Rounds._planner_hangs,
    Rounds._planner_is_told_to_end,
    Rounds._scheduler_is_killed,
    Rounds._asking_scheduler_is_killed,
    Rounds._api_server_is_killed,
    Rounds._api_server_lies,
    Rounds._watches_are_cut,
    Rounds._clock_jumps,
)
KINDS = (gated, gated, waiting, opted_out)
POINTS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "created": lambda pod: bool(pod),
    "allocated": lambda pod: bool(allocation_of(pod)),
    "ungated": lambda pod: not pod["spec"].get("schedulingGates"),
    "bound": is_bound,
}


def named(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["name"])


@asynccontextmanager
async def rounds(plane: ControlPlane, stage: Stage, seed: int) -> AsyncIterator[Rounds]:
    """Two planners and the agents of the nodes, for as many rounds as wanted."""
    port, pages = free_ports(2)
    here, there = "127.0.0.2", "127.0.0.1"  # planners of one cluster answer the scheduler on the same port
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(FaultyProxy(plane.access(PLANNER), plane.authority))
        kube = await stack.enter_async_context(Kube(proxy.access(), patience=Patience(10.0, 5.0)))
        # An agent that was away may never have listed a Pod that has come and gone meanwhile: then the grace frees.
        options = ("--extender", f"{there}:{port}", "--extender-for", ASKING, "--release-grace", f"{GRACE_S:g}")
        process = stack.enter_context(PlannerProcess(plane, "planner", *options))
        asking = stack.enter_context(SchedulerProcess(plane, configuration(f"http://{here}:{port}/v1")))
        made = Rounds(plane, stage, random.Random(seed), process, proxy, asking)
        await stage.nodes(alike(NODES))
        settings, seat = Settings(release_grace_s=GRACE_S, extender_for=(ASKING,)), Seat(LEASE_KEY, "here", Times.of(2))
        planner = run(kube, settings, Limits(), seat, Address(here, pages), made.wall, DoorAddress(here, port))
        tasks = [asyncio.create_task(planner), asyncio.create_task(_agents(stage))]
        try:
            yield made
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _agents(stage: Stage) -> None:
    """What the nodes' agents report: which Pods run there."""
    told: dict[str, set[str]] = {}
    while True:
        with suppress(KubeError):
            runs: defaultdict[str, set[str]] = defaultdict(set, {node: set() for node in told})
            for pod in await stage.pods():
                if is_bound(pod):
                    runs[pod["spec"]["nodeName"]].add(pod["metadata"]["uid"])
            for node, uids in runs.items():
                if told.get(node) != uids:
                    await stage.in_use(node, uids)
                    told[node] = uids
        await asyncio.sleep(0.2)

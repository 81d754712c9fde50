"""A scheduler in memory that asks the extender face, as kube-scheduler does, for every Pod without gates.

What matters is copied from the real one: it tries a hinted node alone first, then a
sample of what its own rules leave; a failed attempt clears the hint; whatever happens
in the cluster is a reason to try a refused Pod again.
"""

import asyncio
import contextlib
import random
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from numaplace.adapters.kube.fake.refusals import RefusalError
from numaplace.adapters.kube.resources import NODES, PODS
from numaplace.services.planner import DoorAddress
from tests.services.planner.reader import pin_of
from tests.services.planner.world import DEADLINE_S, World

Pod = dict[str, Any]


@dataclass
class AskingScheduler:
    """Asks at `url`; `takes` are its own rules, `sample` is how many nodes it looks at."""

    world: World
    url: str
    session: aiohttp.ClientSession
    takes: Callable[[Pod, str], bool] = lambda *_: True
    sample: int = 100
    idle: bool = False  # it only asks what a test tells it to
    attempts: Counter[str] = field(default_factory=Counter)
    asked: list[tuple[str, list[str]]] = field(default_factory=list)  # every filter: Pod and names
    said: dict[str, str] = field(default_factory=dict)  # the last message of each Pod
    _tried: dict[str, object] = field(default_factory=dict)

    async def run(self) -> None:
        while not self.idle:
            happened = self._happened()
            for pod in self.world.pods:
                name, now = pod["metadata"]["name"], (pod["metadata"]["resourceVersion"], happened)
                if self._is_pending(pod) and self._tried.get(name) != now:
                    self._tried[name] = now
                    await self._attempt(pod)
            with contextlib.suppress(TimeoutError):  # the pause after an error
                async with asyncio.timeout(0.05):
                    await self.world.server.store.news()

    async def ask(self, verb: str, question: Any) -> Any:
        async with self.session.post(f"{self.url}/v1/{verb}", json=question) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def _attempt(self, pod: Pod) -> None:
        name = pod["metadata"]["name"]
        self.attempts[name] += 1
        hint = pod["status"].get("nominatedNodeName")
        feasible = [node for node in self._nodes() if self.takes(pod, node) and pin_of(pod) in ("", node)]
        answer: dict[str, Any] = {}
        for names in ([[hint]] if hint in feasible else []) + [feasible[: self.sample]]:
            if not names:
                break
            self.asked.append((name, names))
            answer = await self._asked_filter(pod, names)
            if answer.get("NodeNames"):
                await self._bind(pod, answer["NodeNames"][0])
                return
            if answer.get("Error"):
                break
        texts = Counter((answer.get("FailedAndUnresolvableNodes") or {}).values())
        message = answer.get("Error") or ", ".join(f"{count} {text}" for text, count in sorted(texts.items()))
        self._failed(pod, message or "no node", error=bool(answer.get("Error")))

    async def _asked_filter(self, pod: Pod, names: list[str]) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await self.ask("filter", {"Pod": pod, "Nodes": None, "NodeNames": names})
            return found
        except aiohttp.ClientError as error:
            return {"Error": str(error)}

    async def _bind(self, pod: Pod, node: str) -> None:
        meta = pod["metadata"]
        question = {"PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"], "Node": node}
        try:
            error = (await self.ask("bind", question))["Error"]
        except aiohttp.ClientError as lost:
            error = str(lost)
        if error:
            self._failed(pod, error, error=True)

    def _failed(self, pod: Pod, message: str, *, error: bool) -> None:
        name = pod["metadata"]["name"]
        self.said[name] = message
        if error:
            self._tried.pop(name, None)  # it comes again by itself
        reason = "SchedulerError" if error else "Unschedulable"
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}

        def change(now: Pod) -> None:
            others = [one for one in now["status"].get("conditions") or () if one["type"] != "PodScheduled"]
            now["status"]["conditions"] = [*others, condition]
            if pod["status"].get("nominatedNodeName"):
                now["status"].pop("nominatedNodeName", None)

        with contextlib.suppress(RefusalError):
            if not self.world.pod(name)["spec"].get("nodeName"):
                self.world.change(name, change)

    def _nodes(self) -> list[str]:
        nodes = self.world.server.store.all_of(NODES)
        return [one["metadata"]["name"] for one in nodes if not one["spec"].get("unschedulable")]

    def _happened(self) -> object:
        store = self.world.server.store
        nodes = tuple(one["metadata"]["resourceVersion"] for one in store.all_of(NODES))
        bound = tuple(one["metadata"]["name"] for one in store.all_of(PODS) if one["spec"].get("nodeName"))
        return nodes, bound

    def _is_pending(self, pod: Pod) -> bool:
        spec = pod["spec"]
        return not spec.get("schedulingGates") and not spec.get("nodeName") and "aliyun.com/gpu" in str(spec)


def door(host: str = "127.0.0.1", **more: Any) -> DoorAddress:
    """A door at a port that is free, and that no socket of a client gets: one that knocks there would meet itself."""
    for port in random.sample(range(20_000, 30_000), 100):
        with contextlib.suppress(OSError), socket.create_server((host, port)):
            return DoorAddress(host, port, **more)
    raise AssertionError("no port is free")


async def answers(world: World, at: DoorAddress) -> None:
    """Return when a planner leads and listens there: it then knows that it does not know a Pod."""
    nobody = {"PodName": "p", "PodNamespace": "ns", "PodUID": "nobody", "Node": "n1"}
    async with asyncio.timeout(DEADLINE_S), aiohttp.ClientSession() as session:
        scheduler = AskingScheduler(world, f"http://{at.host}:{at.port}", session)
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                if "is not known" in (await scheduler.ask("bind", nobody))["Error"]:
                    return
            await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def asking(world: World, at: DoorAddress, **more: Any) -> AsyncIterator[AskingScheduler]:
    """A scheduler at work."""
    async with aiohttp.ClientSession() as session:
        scheduler = AskingScheduler(world, f"http://{at.host}:{at.port}", session, **more)
        task = asyncio.create_task(scheduler.run())
        try:
            yield scheduler
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

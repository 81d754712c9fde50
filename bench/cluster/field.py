"""A control plane with nodes that are only objects, and Pods put onto it and taken away: the ground of every part."""

import asyncio
import base64
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec
import yaml

from bench.cluster.planner import account_file
from numaplace.adapters.kube import Key, Kube, NotFoundError
from numaplace.adapters.kube.resources import NAMESPACES, PODS
from numaplace.adapters.kube.transport import Request
from numaplace.model import keys
from numaplace.model.cluster import NodeState
from tests.chart import rendered as chart
from tests.cluster.chart import install
from tests.cluster.control_plane import SCHEDULER, ControlPlane
from tests.cluster.crds import create_crds
from tests.cluster.identities import SERVICE_ACCOUNTS, service_account
from tests.cluster.nodes import create_nodes
from tests.cluster.programs import free_ports
from tests.recorded import ROOT

SPACE = "bench"
PLACEMENT = {"cpuset-scheduler": "required", keys.POLICY: "SingleNUMANode", keys.EXCLUSIVE: "Preferred"}
AT_ONCE = 32
_WAIT_S = 600.0
_NAME, _VERSION = re.compile(rb'"name":"([^"]+)"'), re.compile(rb'"resourceVersion":"([^"]+)"')


class Kind(StrEnum):
    """Pods of 12 CPUs and 64 GiB."""

    OURS = "ours"  # and 2 GPUs in one NUMA node, exclusive CPUs
    STOCK = "stock"  # and 2 GPUs, wherever: where the chart is not installed
    PLAIN = "plain"  # nothing that concerns us


@dataclass
class Field:
    """The cluster."""

    plane: ControlPlane
    admin: Kube

    async def add_pods(self, count: int, kind: Kind) -> list[str]:
        """Pods of one kind."""
        names = [f"{kind}-{number:05d}" for number in range(count)]
        await at_once(names, lambda one: self.add_pod(one, kind))
        return names

    async def add_pod(self, name: str, kind: Kind) -> None:
        """One of them."""
        amounts = {"cpu": "12", "memory": "64Gi", **({} if kind is Kind.PLAIN else {"aliyun.com/gpu": "2"})}
        main = {"name": "main", "image": "none", "resources": {"limits": amounts, "requests": amounts}}
        pod: dict[str, object] = {
            "metadata": {"name": name, "annotations": PLACEMENT if kind is Kind.OURS else {}},
            "spec": {"containers": [main]},
        }
        await self.admin.create(PODS, pod, SPACE)

    async def install(self) -> None:
        """Install the chart: the planner's rights, and the admission policies; the planner gets a token as Pods do."""
        await install(self.plane, self.admin)
        access = await service_account(self.plane, self.admin, Key(chart.SPACE, "numaplace-planner"))
        trust = base64.b64encode(access.authorities).decode()
        config = {
            "current-context": "bench",
            "clusters": [
                {"name": "bench", "cluster": {"server": access.server, "certificate-authority-data": trust}},
            ],
            "users": [{"name": "bench", "user": {"token": (await access.credentials.current()).token}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        }
        kubeconfig = account_file(self.plane)
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_bytes(msgspec.json.encode(config))

    async def let_the_scheduler_ask(self) -> tuple[str, ...]:
        """Name the extender to the scheduler, which starts anew; gives the options for a planner that answers."""
        await install(self.plane, self.admin, {"planner": {"replicas": 0, "extender": {"enabled": True}}})
        (port,) = free_ports(1)
        config = self.plane.folder / "scheduler.json"
        entry = yaml.safe_load((ROOT / "deploy/chart/files/scheduler-config.yaml").read_text())["extenders"][0]
        entry["urlPrefix"] = f"http://127.0.0.1:{port}/v1"
        config.write_bytes(msgspec.json.encode({**msgspec.json.decode(config.read_bytes()), "extenders": [entry]}))
        self.plane.kill(SCHEDULER)
        await self.plane.start(SCHEDULER)
        return ("--extender", f"127.0.0.1:{port}")

    async def clear_pods(self) -> None:
        """Take all Pods away, and return when they are gone."""
        everything = Request("DELETE", PODS.path(SPACE), body=b'{"gracePeriodSeconds":0}', repeatable=True)
        async with asyncio.timeout(_WAIT_S):
            while await self._count():
                await self.admin.send(everything)
                await asyncio.sleep(0.2)

    async def _count(self) -> int:
        body = await self.admin.send(Request("GET", PODS.path(SPACE), {"limit": "1"}, repeatable=True))
        return len(msgspec.json.decode(body)["items"])


@dataclass
class Bound:
    """Which Pod was bound when, as a watch that reads nothing but the name of each that has a node."""

    at_s: dict[str, float] = field(default_factory=dict)
    began: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, names: Iterable[str]) -> None:
        """Return when all of them are bound."""
        wanted = set(names)
        async with asyncio.timeout(_WAIT_S):
            while not wanted <= self.at_s.keys():
                self._news.clear()
                await self._news.wait()

    def rate(self, names: Iterable[str]) -> float:
        """Pods a second, from the first to the last binding."""
        times = sorted(self.at_s[name] for name in names)
        return (len(times) - 1) / max(times[-1] - times[0], 1e-3)  # a few may be told at one time

    async def watch(self, admin: Kube) -> None:
        """Take down what is bound from now on, for ever; the server may end a watch at any time."""
        body = await admin.send(Request("GET", PODS.path(SPACE), {"limit": "1"}, repeatable=True))
        version: str = msgspec.json.decode(body)["metadata"]["resourceVersion"]
        self.began.set()  # nothing from this version on is missed
        while True:
            query = {"watch": "true", "fieldSelector": "spec.nodeName!=", "resourceVersion": version}
            async with admin.stream(Request("GET", PODS.path(SPACE), query)) as content:
                rest = b""
                while chunk := await content.readany():
                    now_s = time.monotonic()
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        name, at = _NAME.search(line), _VERSION.search(line)
                        if name is None or at is None:
                            raise RuntimeError(f"the watch of the bench brought {line[:200]!r}")
                        version = at[1].decode()
                        if line.startswith(b'{"type":"ADDED"'):
                            self.at_s.setdefault(name[1].decode(), now_s)
                    self._news.set()


@asynccontextmanager
async def field_of(nodes: Iterable[NodeState], **scheduler: object) -> AsyncIterator[Field]:
    """A control plane with these nodes and a namespace, and nothing of ours but the reports."""
    with ControlPlane(scheduler=scheduler) as plane:
        async with Kube(plane.admin()) as admin:
            await create_crds(admin)
            await admin.create(NAMESPACES, {"metadata": {"name": SPACE}})
            await create_nodes(admin, nodes)
            async with asyncio.timeout(_WAIT_S):
                while True:
                    with suppress(NotFoundError):
                        await admin.get(SERVICE_ACCOUNTS, "default", SPACE)
                        break
                    await asyncio.sleep(0.1)
            yield Field(plane, admin)


@asynccontextmanager
async def watching(field: Field) -> AsyncIterator[Bound]:
    """What is bound while this lasts."""
    bound = Bound()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bound.watch(field.admin))
        await bound.began.wait()
        yield bound
        task.cancel()


async def at_once(things: Iterable[str], do: Callable[[str], Awaitable[None]]) -> None:
    """Do something with each, many at once."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(thing: str) -> None:
        async with turn:
            await do(thing)

    async with asyncio.TaskGroup() as group:
        for thing in things:
            group.create_task(one(thing))

"""A small cluster in memory for the planner: nodes with reports, Pods, and a scheduler that only follows pins."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from numaplace.adapters.kube import Key, Kube, Patience
from numaplace.adapters.kube.fake import Asked, FakeServer
from numaplace.adapters.kube.fake import pods as fake_pods
from numaplace.adapters.kube.fake.refusals import RefusalError
from numaplace.adapters.kube.resources import EVENTS, NODES, PODS, REPORTS
from numaplace.model import keys
from numaplace.model.cluster import NodeState
from numaplace.model.settings import Settings
from numaplace.services.planner import LEASE, Address, DoorAddress, Limits, Seat, Times, run
from tests.cluster.nodes import described, node_object, report_object
from tests.objects import container, pod_object
from tests.services.planner.reader import pin_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
DEADLINE_S = 20.0
SPACE = "ns"
SINGLE = {"cpuset-scheduler": "required", "numaplace.dev/policy": "SingleNUMANode"}
# Short times, so that what takes minutes in a cluster is seen at once.
QUICK = Limits(tick_s=0.02, stuck_s=0.05, aside_s=0.3)
LEASE_KEY = Key("kube-system", LEASE)
CALM_TIMES = Times(lease_s=60, believed_s=50.0, look_s=0.05)  # one term, however busy the machine is
QUICK_TIMES = Times(lease_s=3, believed_s=2.1, look_s=0.05)
SETTINGS = Settings(release_grace_s=3600.0)
SMALL = "2pkg 2numa 16cpu 4gpu 4hca pix"  # two GPUs and four cores of two threads in each NUMA node


def nodes_of(count: int = 1, machine: str = SMALL, **group: Any) -> list[NodeState]:
    labels = {SETTINGS.enable_label: SETTINGS.enable_value}
    entry = {"name": "n#", "count": count, "machine": machine, "labels": labels, **group}
    return described(json.dumps({"nodes": [entry]}), SETTINGS)


def gated(name: str, *, gpus: int = 1, cpus: int = 2, annotations: Any = SINGLE, **more: Any) -> dict[str, Any]:
    """A Pod as admission lets it in."""
    limits = {"cpu": str(cpus), **({"aliyun.com/gpu": str(gpus)} if gpus else {})}
    gates = more.pop("gates", (keys.PLAN_GATE,))
    spec = {"schedulingGates": [{"name": gate} for gate in gates], "priority": 0, **more}
    return pod_object(container(limits=limits), annotations=annotations, name=name, namespace=SPACE, **spec)


def pin_term(node: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}


@dataclass
class World:
    server: FakeServer
    kube: Kube
    scheduling: bool = True
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    # --- what there is

    def add_nodes(self, nodes: Iterable[NodeState]) -> None:
        for node in nodes:
            made = self.server.store.add(NODES, "", node_object(node))
            self.server.store.add(REPORTS, "", report_object(node, made["metadata"]["uid"]))

    def add(self, *pods: dict[str, Any]) -> None:
        for pod in pods:
            self.server.store.add(PODS, SPACE, fake_pods.created(pod))

    def add_on_its_way(
        self, name: str, allocation: dict[str, Any], *, pin: str = "", gates: bool = False, **more: Any
    ) -> None:
        """A Pod as an earlier planner left it: hinted, and with `pin` on its way to that node."""
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [pin_term(pin)]}}} if pin else {}
        pod = gated(name, affinity=affinity, gates=(keys.PLAN_GATE,) if gates else ())
        pod["metadata"]["annotations"] = {**pod["metadata"]["annotations"], keys.ALLOCATION: json.dumps(allocation)}
        self.add(pod)
        self.change(name, lambda pod: pod["status"].update(nominatedNodeName=allocation["node"]))

    def pod(self, name: str) -> dict[str, Any]:
        return self.server.store.get(PODS, Key(SPACE, name))

    def has(self, name: str) -> bool:
        return any(pod["metadata"]["name"] == name for pod in self.pods)

    @property
    def pods(self) -> list[dict[str, Any]]:
        return self.server.store.all_of(PODS)

    def change(self, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        pod = self.pod(name)
        change(pod)
        self.server.store.change(PODS, Key(SPACE, name), pod)

    def remove(self, name: str) -> None:
        self.server.store.remove(PODS, Key(SPACE, name))

    def change_node(self, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        node = self.server.store.get(NODES, Key("", name))
        change(node)
        self.server.store.change(NODES, Key("", name), node)

    def change_report(self, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        report = self.server.store.get(REPORTS, Key("", name))
        change(report)
        self.server.store.change(REPORTS, Key("", name), report)

    def uses(self, node: str, *names: str) -> None:
        """The agent of the node reports these Pods among those in use."""
        in_use = json.dumps({self.pod(name)["metadata"]["uid"]: {} for name in names})

        def write(report: dict[str, Any]) -> None:
            report["attributes"] = [one for one in report["attributes"] if one["name"] != keys.IN_USE]
            report["attributes"].append({"name": keys.IN_USE, "value": in_use})

        self.change_report(node, write)

    def events(self, reason: str) -> list[str]:
        return [one["note"] for one in self.server.store.all_of(EVENTS) if one["reason"] == reason]

    def asked(self, method: str, part: str = "") -> int:
        """How many such requests there were, those for the Lease left out."""
        return sum(1 for one in self.requests if one.method == method and part in one.path)

    @property
    def requests(self) -> list[Asked]:
        """What was asked of the API server, without the Lease."""
        return [one for one in self.server.asked if "/leases" not in one.path]

    # --- who acts

    def start(
        self,
        limits: Limits = QUICK,
        settings: Settings = SETTINGS,
        *,
        name: str = "planner",
        lease: Key = LEASE_KEY,
        times: Times = QUICK_TIMES,
        address: Address | None = None,
        door: DoorAddress | None = None,
    ) -> asyncio.Task[None]:
        """A planner; it ends with the world, or when its task is cancelled."""
        seat = Seat(lease, name, times)
        task = asyncio.create_task(run(self.kube, settings, limits, seat, address, door=door))
        self._tasks.append(task)
        return task

    async def kill(self, planner: asyncio.Task[None]) -> None:
        planner.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await planner

    async def schedule(self) -> None:
        """Bind every Pod without gates to the node it is pinned to, as soon as there is one."""
        while True:
            for pod in self.pods if self.scheduling else []:
                node = pin_of(pod)
                if node and not pod["spec"].get("schedulingGates") and not pod["spec"].get("nodeName"):
                    self.bind(pod["metadata"]["name"], node)
            await self.server.store.news()

    def bind(self, name: str, node: str) -> None:
        with contextlib.suppress(RefusalError):
            fake_pods.bound(self.server.store, Key(SPACE, name), {"target": {"name": node}})

    async def until(self, fact: Callable[[], bool]) -> None:
        """Return when the fact holds; whatever happens in the cluster is a reason to look."""
        async with asyncio.timeout(DEADLINE_S):
            while not fact():
                for task in self._tasks:
                    if task.done() and not task.cancelled():
                        task.result()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.server.store.news(), 0.02)

    async def until_bound(self, *names: str) -> None:
        await self.until(lambda: all(self.pod(name)["spec"].get("nodeName") for name in names))

    async def until_refused(self, *names: str, code: str = "") -> None:
        await self.until(lambda: all(self.refusal(name) and self.refusal(name).startswith(code) for name in names))

    def refusal(self, name: str) -> str:
        """Code and sentence of the condition, or nothing."""
        for one in self.pod(name)["status"].get("conditions") or ():
            if (one["type"], one["status"]) == (keys.PLANNED, "False"):
                return f"{one['reason']}: {one['message']}"
        return ""

    async def quiet(self) -> None:
        """Return when nothing but the Lease was asked of the API server for a few ticks."""
        async with asyncio.timeout(DEADLINE_S):
            before = -1
            while before != len(self.requests):
                before = len(self.requests)
                await asyncio.sleep(10 * QUICK.tick_s)


@contextlib.asynccontextmanager
async def world_of(nodes: Iterable[NodeState], **more: Any) -> AsyncIterator[World]:
    async def nap(seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.005))

    async with FakeServer() as server, Kube(server.access(), patience=Patience(5.0, 1.0), sleep=nap) as kube:
        world = World(server, kube, **more)
        world.add_nodes(nodes)
        scheduler = asyncio.create_task(world.schedule())
        try:
            yield world
        finally:
            for task in (scheduler, *world._tasks):
                await world.kill(task)

"""Who acts in the rounds of trouble: two planners, two schedulers, the nodes, and proxies between them.

One planner is a process that can be killed and stopped, the other runs here with a wall
clock that can jump. Each has a proxy before the API server, and one stands between the
scheduler that asks and the planner here.
"""

import asyncio
import logging
import random
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from numaplace.adapters.kube import Access, Key, Kube, KubeError, Patience, merge, read_lease
from numaplace.adapters.kube.fake import Answer
from numaplace.adapters.kube.resources import EVENTS, NODES, PODS, REPORTS
from numaplace.model import keys
from numaplace.model.cluster import NodeState
from numaplace.model.settings import Settings
from numaplace.services.planner import Address, DoorAddress, Limits, Seat, Times, run
from numaplace.services.planner.logs import JsonLines
from tests.cluster.control_plane import ControlPlane
from tests.cluster.faulty_proxy import FaultyProxy
from tests.cluster.nodes import alike, node_object, report_object
from tests.cluster.planner_process import LEASE_KEY, PLANNER, PlannerProcess
from tests.cluster.programs import free_ports
from tests.cluster.scheduler_process import ASKING, SchedulerProcess, configuration
from tests.cluster.stage import Stage, gone, is_bound, listed

NODE_COUNT = 6
GRACE_S = 3.0
HERE, PROCESS = "here", "process"
_LOOK_S = 0.2


@dataclass
class Nodes:
    """What kubelets and agents do: they end Pods that are to end, and report what runs and which cards there are."""

    stage: Stage
    machines: dict[str, NodeState]
    broken: dict[str, set[str]] = field(default_factory=dict)  # PCI addresses of cards that are gone, by node

    async def create(self, name: str) -> None:
        """The kubelet registers its node."""
        await self.stage.admin.create(NODES, node_object(self.machines[name]))

    async def live(self) -> None:
        """For ever."""
        while True:
            with suppress(KubeError):
                await self.look()
            await asyncio.sleep(_LOOK_S)

    async def look(self) -> None:
        """All that is due now."""
        runs: defaultdict[str, list[str]] = defaultdict(list)
        for pod in await self.stage.pods():
            if is_bound(pod) and pod["metadata"].get("deletionTimestamp"):
                await gone(self.stage.admin, PODS, Key(self.stage.space, pod["metadata"]["name"]), grace_s=0)
            elif is_bound(pod):
                runs[pod["spec"]["nodeName"]].append(pod["metadata"]["uid"])
        known = {one["metadata"]["name"]: one for one in await listed(self.stage.admin, REPORTS, "")}
        for node in await listed(self.stage.admin, NODES, ""):
            name, uid = node["metadata"]["name"], node["metadata"]["uid"]
            await self._report(name, uid, known.get(name), sorted(runs[name]))

    async def _report(self, name: str, uid: str, known: dict[str, Any] | None, runs: list[str]) -> None:
        machine, topology = self.machines[name], self.machines[name].topology
        if topology is None:
            raise AssertionError(f"{name} is a described machine")
        left = tuple(one for one in topology.gpus if one.pci not in self.broken.get(name, ()))
        wanted = report_object(replace(machine, topology=replace(topology, gpus=left)), uid)
        attributes = [one for one in wanted["attributes"] if one["name"] != keys.IN_USE]
        in_use = msgspec.json.encode({pod: {} for pod in runs}).decode()
        wanted["attributes"] = attributes = [*attributes, {"name": keys.IN_USE, "value": in_use}]
        if known is not None and known["metadata"]["ownerReferences"][0]["uid"] != uid:  # of a node that was deleted
            await gone(self.stage.admin, REPORTS, Key("", name))
            known = None
        if known is None:
            await self.stage.admin.create(REPORTS, wanted)
        elif known["attributes"] != attributes:
            await self.stage.admin.patch(REPORTS, name, merge({"attributes": attributes}))


@dataclass
class Cast:
    """All who act."""

    plane: ControlPlane
    stage: Stage
    draw: random.Random
    process: PlannerProcess
    proxies: dict[str, FaultyProxy]  # by the planner that comes through it
    asked: FaultyProxy  # between the scheduler that asks and the planner here
    asking: SchedulerProcess
    nodes: Nodes
    clock_error_s: float = 0.0
    tasks: list[asyncio.Task[None]] = field(default_factory=list)  # who lives here

    def check(self) -> None:
        """Whatever ended that lives here, and must not end."""
        for task in self.tasks:
            if task.done():
                task.result()

    def wall(self) -> float:
        """The clock of the planner that runs here."""
        return time.time() + self.clock_error_s

    async def leader(self) -> str:
        """The planner that the Lease names."""
        lease = await read_lease(self.stage.admin, LEASE_KEY)
        return "" if lease is None else lease.holder.partition("@")[0]

    async def let_lead(self, name: str) -> None:
        """Keep the other planner from the Lease until this one has it."""
        (other,) = (proxy for planner, proxy in self.proxies.items() if planner != name)
        other.fail(Answer(503, "ServiceUnavailable"), path="/leases", times=1000)
        while await self.leader() != name:
            self.check()
            await asyncio.sleep(0.05)
        self.tell_the_truth()

    def tell_the_truth(self) -> None:
        """No fault strikes any more."""
        for proxy in self.proxies.values():
            proxy.faults.clear()


@asynccontextmanager
async def cast(plane: ControlPlane, stage: Stage, seed: int) -> AsyncIterator[Cast]:
    """Everyone, as long as it takes; when that ends badly, what was there is kept.

    With an even seed the planners pin Pods whose scheduler asks, too (`--extender-pins`).
    """
    pins = seed % 2 == 0
    port, pages = free_ports(2)
    here, there = "127.0.0.2", "127.0.0.1"  # planners of one cluster answer the scheduler on the same port
    async with AsyncExitStack() as stack:
        stack.enter_context(_logged(plane.folder / f"{HERE}.log"))
        proxies = {
            name: await stack.enter_async_context(FaultyProxy(plane.access(PLANNER), plane.authority))
            for name in (HERE, PROCESS)
        }
        asked = await stack.enter_async_context(FaultyProxy(Access(f"http://{here}:{port}"), None))
        kube = await stack.enter_async_context(Kube(proxies[HERE].access(), patience=Patience(10.0, 5.0)))
        # An agent that was away may never have listed a Pod that has come and gone meanwhile: then the grace frees.
        options: tuple[str, ...] = ("--name", PROCESS, "--release-grace", f"{GRACE_S:g}")
        options += ("--extender", f"{there}:{port}", "--extender-for", ASKING)
        options += ("--extender-pins",) if pins else ()
        through = plane.kubeconfig_through(proxies[PROCESS].access(), "faulty-proxy")
        process = stack.enter_context(PlannerProcess(plane, PROCESS, *options, kubeconfig=through))
        asking = stack.enter_context(SchedulerProcess(plane, configuration(f"{asked.access().server}/v1")))
        nodes = Nodes(stage, {node.name: node for node in alike(NODE_COUNT)})
        made = Cast(plane, stage, random.Random(seed), process, proxies, asked, asking, nodes)
        for name in nodes.machines:
            await nodes.create(name)
        settings = Settings(release_grace_s=GRACE_S, extender_for=(ASKING,), extender_pins=pins)
        seat = Seat(LEASE_KEY, HERE, Times.of(2))
        limits = Limits(stuck_s=2.0, aside_s=20.0)  # as those of the process
        planner = run(kube, settings, limits, seat, Address(here, pages), made.wall, DoorAddress(here, port))
        made.tasks = [asyncio.create_task(planner), asyncio.create_task(nodes.live())]
        try:
            yield made
        except BaseException:
            print(f"what was there is kept in {await _kept(plane, stage)}")
            raise
        finally:
            for task in made.tasks:
                task.cancel()
            await asyncio.wait(made.tasks)


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    """The log of the planner that runs here, like that of the other one."""
    handler, log = logging.FileHandler(path), logging.getLogger("numaplace")
    handler.setFormatter(JsonLines())
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()


async def _kept(plane: ControlPlane, stage: Stage) -> Path:
    """What tells how a round failed, where it outlives the control plane: all logs and the objects."""
    kept = Path(tempfile.mkdtemp(prefix="numaplace-rounds-"))
    for log in plane.folder.glob("*.log"):
        shutil.copy(log, kept)
    for resource, space in ((PODS, stage.space), (EVENTS, stage.space), (NODES, ""), (REPORTS, "")):
        with suppress(KubeError):
            things = await listed(stage.admin, resource, space)
            (kept / f"{resource.plural}.json").write_bytes(msgspec.json.format(msgspec.json.encode(things)))
    return kept

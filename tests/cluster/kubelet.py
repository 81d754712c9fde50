"""A kubelet for the Pods of one namespace, whatever node they are bound to, so far as the chart's Pods need one.

It starts their containers (`container_process.py`), asks their probes, tells their status,
starts what ended again, ends what is deleted within its grace, and takes the Pod away.
Its address is one of loopback that no other Pod has. Pods of images that are not ours stay
as they are: there is nowhere to pull them from.
"""

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import msgspec

from numaplace.adapters.kube import Kube, NotFoundError, strategic
from numaplace.adapters.kube.resources import PODS
from tests.chart.rendered import IMAGE, SPACE
from tests.cluster.container_process import ContainerProcess, require_namespaces
from tests.cluster.control_plane import ControlPlane
from tests.cluster.stage import is_bound, listed
from tests.cluster.volumes import write_volumes

_LOOK_S = 0.1
_OURS = IMAGE["image"]["repository"]


@dataclass(slots=True)
class Health:
    """What a probe of a container has found; a container without one is as it was taken to be."""

    probe: Mapping[str, Any]
    good: bool
    failed: int = 0
    due_s: float = 0.0

    async def look(self, process: ContainerProcess) -> bool:
        """Ask if it is time to, and say how things stand."""
        if self.probe and time.monotonic() >= self.due_s:
            self.due_s = time.monotonic() + self.probe["periodSeconds"]
            asked = self.probe["httpGet"]
            status, _ = await asyncio.to_thread(
                process.page, asked["port"], asked["path"], self.probe["timeoutSeconds"]
            )
            self.failed = 0 if 200 <= status < 400 else self.failed + 1
            self.good = not self.failed or (self.good and self.failed < self.probe["failureThreshold"])
        return self.good


class Kubelet:
    """Runs Pods while it is entered; what happened to them is its `story`, in order: a word and the Pod's name."""

    def __init__(self, plane: ControlPlane, admin: Kube) -> None:
        self.plane, self.admin = plane, admin
        self.story: list[tuple[str, str]] = []
        self.running: dict[str, ContainerProcess] = {}  # by the Pod's name
        self._work: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        require_namespaces()
        self._work = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._work is not None:
            self._work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._work

    async def renew(self) -> None:
        """Write the volumes of all Pods anew, each with another token."""
        for process in list(self.running.values()):
            await write_volumes(self.admin, process.pod, process.volumes)

    async def _run(self) -> None:
        known: set[str] = set()
        async with asyncio.TaskGroup() as group:
            while True:
                for pod in await listed(self.admin, PODS, SPACE):
                    if pod["metadata"]["uid"] not in known and is_bound(pod) and _is_ours(pod):
                        known.add(pod["metadata"]["uid"])
                        group.create_task(_Kept(self, pod).keep())
                await asyncio.sleep(_LOOK_S)


class _Kept:
    """One Pod, from its binding until it has finished or is gone."""

    def __init__(self, kubelet: Kubelet, pod: dict[str, Any]) -> None:
        address = f"127.{random.randint(64, 254)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        self._kubelet, self._admin = kubelet, kubelet.admin
        self._pod = {**pod, "status": {**pod["status"], "podIP": address}}
        self._process = ContainerProcess(kubelet.plane, self._pod)
        self._restarts = 0
        self._told: dict[str, Any] = {}

    async def keep(self) -> None:
        """Keep it; a Pod that was forced out takes its process with it."""
        running = self._kubelet.running
        try:
            with contextlib.suppress(NotFoundError):
                await write_volumes(self._admin, self._pod, self._process.volumes)
                self._start()
                running[self._process.name] = self._process
                while await self._goes_on():
                    await asyncio.sleep(_LOOK_S)
        finally:
            running.pop(self._process.name, None)
            self._process.kill()

    def _start(self) -> None:
        spec = self._process.spec
        self._ready = Health(spec.get("readinessProbe", {}), good="readinessProbe" not in spec)
        self._alive = Health(spec.get("livenessProbe", {}), good=True)
        self._process.start()

    async def _goes_on(self) -> bool:
        """One look at the Pod and at its process."""
        metadata = self._pod["metadata"]
        now = msgspec.json.decode(await self._admin.get(PODS, metadata["name"], metadata["namespace"]))
        if now["metadata"]["uid"] != metadata["uid"]:
            return False
        if "deletionTimestamp" in now["metadata"]:
            await self._end(now["metadata"]["deletionGracePeriodSeconds"])
            return False
        code = self._process.running.poll()
        if code is not None and self._pod["spec"]["restartPolicy"] == "Never":
            await self._tell("Failed" if code else "Succeeded", ready=False, state={"terminated": {"exitCode": code}})
            return False
        if code is not None or not await self._alive.look(self._process):
            self._process.kill()
            self._restarts += 1
            self._note("again")
            self._start()
        await self._tell("Running", ready=await self._ready.look(self._process), state={"running": {}})
        return True

    async def _end(self, grace_s: float) -> None:
        """What comes before, SIGTERM, SIGKILL after the grace; the Pod is gone when its process is."""
        deadline_s = time.monotonic() + grace_s
        self._note("told to end")
        hook = self._process.spec.get("lifecycle", {}).get("preStop", {})
        await asyncio.sleep(hook.get("sleep", {}).get("seconds", 0))
        if self._process.running.poll() is None:
            self._process.running.send_signal(signal.SIGTERM)
        while (code := self._process.running.poll()) is None and time.monotonic() < deadline_s:
            await asyncio.sleep(_LOOK_S)
        self._process.kill()
        self._note("ended" if code == 0 else "killed" if code is None else f"failed with {code}")
        metadata = self._pod["metadata"]
        await self._admin.delete(PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"], grace_s=0)

    async def _tell(self, phase: str, *, ready: bool, state: dict[str, Any]) -> None:
        """Write the status where it differs from what was written last."""
        (spec,), metadata = self._pod["spec"]["containers"], self._pod["metadata"]
        head = {"name": spec["name"], "image": spec["image"], "imageID": ""}
        status = {
            "phase": phase,
            "podIP": self._process.address,
            "podIPs": [{"ip": self._process.address}],
            "conditions": [{"type": one, "status": str(ready)} for one in ("ContainersReady", "Ready")],
            "containerStatuses": [{**head, "ready": ready, "restartCount": self._restarts, "state": state}],
        }
        if status == self._told:
            return
        change = strategic({"metadata": {"uid": metadata["uid"]}, "status": status})
        await self._admin.patch(PODS, metadata["name"], change, metadata["namespace"], subresource="status")
        self._told = status
        self._note("ready" if ready else phase.lower())

    def _note(self, word: str) -> None:
        self._kubelet.story.append((word, self._process.name))


def _is_ours(pod: Mapping[str, Any]) -> bool:
    return all(one["image"].startswith(_OURS) for one in pod["spec"]["containers"])

"""What the planner costs while nothing is to be planned and all nodes send their heartbeats."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from bench.cluster.field import Field
from bench.cluster.planner import Planner
from bench.cluster.processes import cpu_s
from numaplace.adapters.kube import merge, strategic
from numaplace.adapters.kube.resources import NODES, REPORTS
from numaplace.model import keys

EVERY_S = 300.0  # a kubelet writes an unchanged Node every five minutes; the Lease between is not watched


@dataclass(frozen=True, slots=True)
class Idle:
    """How it went."""

    beats: int
    seconds: float
    cpu_s: float  # of the planner

    @property
    def share(self) -> float:
        """Of one CPU."""
        return self.cpu_s / self.seconds


async def idle(field: Field, nodes: list[str], seconds: float) -> Idle:
    """Each node's Node and report are renewed every five minutes, spread evenly."""
    beats = 0

    async def beat(name: str, at_s: float) -> None:
        nonlocal beats
        await asyncio.sleep(at_s - time.monotonic())
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now}
        await field.admin.patch(NODES, name, strategic({"status": {"conditions": [ready]}}), subresource="status")
        await field.admin.patch(REPORTS, name, merge({"metadata": {"annotations": {keys.RENEWED: now}}}))
        beats += 2

    with Planner(field.plane) as planner:
        await planner.until_ready()
        await asyncio.sleep(2.0)  # what the start left to do is done
        before_s, began_s = cpu_s(planner.running.pid), time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number, name in enumerate(nodes):
                at_s = number * EVERY_S / len(nodes)
                if at_s < seconds:
                    group.create_task(beat(name, began_s + at_s))
        await asyncio.sleep(max(0.0, began_s + seconds - time.monotonic()))
        used_s, passed_s = cpu_s(planner.running.pid) - before_s, time.monotonic() - began_s
        planner.end()
    return Idle(beats, passed_s, used_s)

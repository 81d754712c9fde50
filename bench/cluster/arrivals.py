"""Pods that arrive at a steady pace: how long each takes from its creation to its binding."""

import asyncio
import time
from dataclasses import dataclass

from bench.cluster.field import Field, Kind, watching
from bench.cluster.planner import Planner
from bench.cluster.processes import cpu_s


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How it went; times in seconds."""

    waits_s: list[float]  # sorted
    cpu_s: float  # of the planner
    pace: float  # Pods a second that were really created

    def quantile(self, part: float) -> float:
        """The wait that this part of the Pods did not exceed."""
        return self.waits_s[min(len(self.waits_s) - 1, int(part * len(self.waits_s)))]


async def arrivals(field: Field, per_second: float, count: int, *options: str, kind: Kind = Kind.OURS) -> Arrivals:
    """Create Pods at a pace with the planner at work."""
    sent_s: dict[str, float] = {}

    async def create(name: str, at_s: float) -> None:
        await asyncio.sleep(at_s - time.monotonic())
        sent_s[name] = time.monotonic()
        await field.add_pod(name, kind)

    with Planner(field.plane, *options) as planner:
        await planner.until_ready()
        async with watching(field) as bound:
            names = [f"arrival-{number:05d}" for number in range(count)]
            before_s, began_s = cpu_s(planner.running.pid), time.monotonic() + 0.5
            async with asyncio.TaskGroup() as group:
                for number, name in enumerate(names):
                    group.create_task(create(name, began_s + number / per_second))
            await bound.until(names)
            used_s = cpu_s(planner.running.pid) - before_s
        planner.end()
    await field.clear_pods()
    pace = (count - 1) / (max(sent_s.values()) - min(sent_s.values()))
    return Arrivals(sorted(bound.at_s[name] - sent_s[name] for name in names), used_s, pace)

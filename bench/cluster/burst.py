"""Pods that wait already: how fast they are bound by the stock scheduler alone, and with the planner before it."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from bench.cluster.field import Field, Kind, watching
from bench.cluster.planner import Planner
from bench.cluster.processes import cpu_s
from bench.cluster.scheduler import scheduler_steps
from tests.cluster.control_plane import SCHEDULER


@dataclass(frozen=True, slots=True)
class Burst:
    """How it went."""

    pods: int
    rate: float  # Pods a second, from the first to the last binding
    startup_s: float  # of the planner, or of the scheduler
    whole_s: float  # from that start to the last binding
    cpu_s: dict[str, float]  # by program, from ready to the last binding
    steps: dict[str, tuple[int, float]]  # of planner and scheduler: how often, and seconds altogether

    def cpu_ms(self, program: str) -> float:
        """CPU time a Pod."""
        return 1e3 * self.cpu_s.get(program, 0.0) / self.pods

    def step_ms(self, step: str) -> float | None:
        """How long the step takes on the clock, on average; None where it was never done."""
        count, seconds = self.steps.get(step, (0, 0.0))
        return 1e3 * seconds / count if count else None

    @property
    def busy(self) -> float:
        """CPUs that all the programs used together between first and last binding."""
        return sum(self.cpu_s.values()) / (self.pods / self.rate)


async def stock(field: Field, count: int, kind: Kind = Kind.STOCK) -> Burst:
    """Pods for the scheduler alone that are there when it starts."""
    field.plane.kill(SCHEDULER)
    names = await field.add_pods(count, kind)
    async with watching(field) as bound:
        before, began_s = _used(field), time.monotonic()
        before[SCHEDULER] = 0.0
        await field.plane.start(SCHEDULER)
        ready_s = time.monotonic()
        await bound.until(names)
        used, steps = _used(field), scheduler_steps(field.plane)
    await field.clear_pods()
    cpu = {name: used[name] - before[name] for name in used}
    last_s = max(bound.at_s.values())
    return Burst(count, bound.rate(names), ready_s - began_s, last_s - began_s, cpu, steps)


async def planned(field: Field, count: int, *options: str, profile: Path | None = None) -> Burst:
    """Gated Pods that are there when the planner starts."""
    names = await field.add_pods(count, Kind.OURS)
    earlier = scheduler_steps(field.plane)
    async with watching(field) as bound:
        began_s = time.monotonic()
        with Planner(field.plane, *options, profile=profile) as planner:
            await planner.until_ready()
            before, ready_s = {**_used(field), "planner": cpu_s(planner.running.pid)}, time.monotonic()
            await bound.until(names)
            used = {**_used(field), "planner": cpu_s(planner.running.pid)}
            await asyncio.sleep(0.5)  # the last bindings reach it
            later = scheduler_steps(field.plane)
            steps = planner.steps() | {
                name: (later[name][0] - n, later[name][1] - s) for name, (n, s) in earlier.items()
            }
            planner.end()
    await field.clear_pods()
    cpu = {name: used[name] - before[name] for name in used}
    last_s = max(bound.at_s.values())
    return Burst(count, bound.rate(names), ready_s - began_s, last_s - began_s, cpu, steps)


def _used(field: Field) -> dict[str, float]:
    return {name: cpu_s(program.process.pid) for name, program in field.plane.programs.items() if program.process}

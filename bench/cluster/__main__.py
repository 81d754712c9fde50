"""`make bench-cluster`, or `python -m bench.cluster [PART…] [--nodes N…] [--pods N]`: the tables of bench/README.md."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.cluster import tables
from bench.cluster.arrivals import arrivals
from bench.cluster.burst import Burst, planned, stock
from bench.cluster.field import Field, Kind, field_of
from bench.cluster.fleet import fleet, mixed_fleet
from bench.cluster.idle import idle
from bench.cluster.startup import fill, startup
from bench.cluster.where import where
from bench.machine import machine_line
from tests.cluster.build import LaneError

PARTS = ("burst", "outstanding", "where", "arrivals", "idle", "startup")


async def run(parts: list[str], sizes: list[int], pods: int, paces: list[float], seconds: float) -> None:
    """The parts, the ones that need no more than one size on the largest."""
    print(f"{machine_line()}; nodes {sizes}, Pods {pods}", flush=True)
    for size in sizes if set(parts) & set(PARTS[:-1]) else []:
        async with field_of(fleet(size)) as field:
            rows = [row async for row in _before_the_extender(field, pods)] if "burst" in parts else []
            if not rows:
                await field.install()
            if size == sizes[-1]:
                await _on_largest(field, parts, size, pods, paces, seconds)
            if rows:
                tables.bursts(size, [*rows, *[row async for row in _with_the_extender(field, pods)]])
    if "startup" in parts:
        nodes = mixed_fleet(sizes[-1])
        async with field_of(nodes) as field:
            there = await fill(field, nodes, 4)
            await field.install()
            tables.startup(len(nodes), there, await startup(field))


async def _before_the_extender(field: Field, pods: int) -> AsyncIterator[tuple[str, Burst]]:
    """Side by side on the same nodes; the chart is installed on the way."""
    await stock(field, max(1, pods // 4))  # not told: everything is cold
    yield "stock", await stock(field, pods)
    yield "plain Pods", await stock(field, pods, Kind.PLAIN)
    await field.install()
    yield "planner", await planned(field, pods)
    yield "plain Pods beside the chart", await stock(field, pods, Kind.PLAIN)


async def _with_the_extender(field: Field, pods: int) -> AsyncIterator[tuple[str, Burst]]:
    """The same with the extender's entry in the scheduler's configuration."""
    options = await field.let_the_scheduler_ask()
    yield "planner with extender", await planned(field, pods, *options)
    yield "planner with extender and pins", await planned(field, pods, *options, "--extender-pins")
    yield "plain Pods beside the extender", await stock(field, pods, Kind.PLAIN)


async def _on_largest(field: Field, parts: list[str], size: int, pods: int, paces: list[float], seconds: float) -> None:
    if "outstanding" in parts:
        found = [(bound, await planned(field, pods, "--outstanding", str(bound))) for bound in (4, 16, 64, 256, 1024)]
        tables.outstanding(size, found)
    if "where" in parts:
        with tempfile.TemporaryDirectory() as folder:
            profile = Path(folder) / "planner.profile"
            await planned(field, pods, profile=profile)
            tables.where(size, where(profile, pods))
    if "arrivals" in parts:
        rows = [
            (kind, pace, await arrivals(field, pace, int(pace * seconds), kind=kind))
            for pace in paces
            for kind in (Kind.OURS, Kind.PLAIN)
        ]
        tables.arrivals(size, rows)
    if "idle" in parts:
        names = [node.name for node in fleet(size)]
        tables.idle(size, await idle(field, list(names), seconds))


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="bench.cluster", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all without one")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--pods", type=int, default=2000, help="that wait when the planner starts")
    parser.add_argument("--pace", type=float, nargs="+", default=[50.0], help="Pods a second that arrive")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long Pods arrive, and heartbeats are counted")
    asked = parser.parse_args()
    unknown = set(asked.parts) - set(PARTS)
    if unknown:
        parser.error(f"found the part {min(unknown)!r}; expected some of {', '.join(PARTS)}")
    try:
        asyncio.run(run(asked.parts or list(PARTS), sorted(asked.nodes), asked.pods, asked.pace, asked.seconds))
    except LaneError as error:
        sys.exit(f"numaplace: {error}")


if __name__ == "__main__":
    main()

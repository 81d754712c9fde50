"""The figures as tables for bench/README.md."""

from collections.abc import Iterable, Sequence

from bench.cluster.arrivals import Arrivals
from bench.cluster.burst import Burst
from bench.cluster.idle import Idle
from bench.cluster.startup import Startup
from tests.cluster.control_plane import API_SERVER, CONTROLLERS, ETCD, SCHEDULER

_PROGRAMS = ("planner", API_SERVER, SCHEDULER, ETCD, CONTROLLERS)
_STEPS = ("plan", "hint", "ungate", "filter", "bind", "attempt", "binding")


def bursts(nodes: int, found: Sequence[tuple[str, Burst]]) -> None:
    """Rates side by side, CPU time by program, and how long the steps take."""
    (stock,) = (burst.rate for name, burst in found if name == "stock")
    print(f"\nPods that wait already, {nodes} nodes\n")
    rows = [
        (name, f"{one.rate:.0f}", f"{one.rate / stock:.2f}", f"{one.startup_s:.1f} s", f"{one.busy:.2f}")
        for name, one in found
    ]
    _table(("who", "Pods/s", "× stock", "start to ready", "CPUs busy"), rows)
    print(f"\nCPU time a Pod, ms, {nodes} nodes\n")
    _table(
        ("who", *_PROGRAMS, "together"),
        [
            (name, *(f"{one.cpu_ms(program):.2f}" for program in _PROGRAMS), f"{sum(map(one.cpu_ms, _PROGRAMS)):.1f}")
            for name, one in found
        ],
    )
    print(
        f"\nSteps on the clock, ms on average, {nodes} nodes (`attempt`: the scheduler's, `binding`: plan to bound)\n"
    )
    _table(("who", *_STEPS), [(name, *(_ms(one.step_ms(step)) for step in _STEPS)) for name, one in found])


def outstanding(nodes: int, found: Iterable[tuple[int, Burst]]) -> None:
    """What the number of plans on their way does."""
    print(f"\nPlans on their way at one time (`--outstanding`), {nodes} nodes\n")
    rows = [
        (
            bound,
            f"{one.rate:.0f}",
            f"{one.cpu_ms(SCHEDULER):.2f}",
            _ms(one.step_ms("ungate")),
            _ms(one.step_ms("binding")),
        )
        for bound, one in found
    ]
    _table(("at most", "Pods/s", "scheduler ms a Pod", "patch ms", "plan to bound ms"), rows)


def where(nodes: int, found: Iterable[tuple[str, float, float]]) -> None:
    """Where the planner's CPU time goes."""
    print(f"\nWhere the planner's CPU time goes, {nodes} nodes (under a profiler, which makes all of it slower)\n")
    _table(("step", "part", "ms a Pod"), [(name, f"{part:.0%}", f"{ms:.2f}") for name, part, ms in found])


def arrivals(nodes: int, found: Iterable[tuple[str, float, Arrivals]]) -> None:
    """Latencies from the creation's request to the binding."""
    print(f"\nPods that arrive, {nodes} nodes: from the request that creates a Pod to its binding\n")
    rows = [
        (kind, f"{asked:g}", f"{one.pace:.1f}", *(f"{1e3 * one.quantile(part):.0f} ms" for part in (0.5, 0.9, 0.99, 1)),
         f"{1e3 * one.cpu_s / len(one.waits_s):.2f}")
        for kind, asked, one in found
    ]  # fmt: skip
    _table(("Pods", "asked a second", "created a second", "p50", "p90", "p99", "worst", "planner ms a Pod"), rows)


def idle(nodes: int, found: Idle) -> None:
    """Heartbeats and nothing else."""
    print(f"\nNothing to plan, {nodes} nodes, {found.beats} heartbeats of Nodes and reports in {found.seconds:.0f} s\n")
    _table(("planner's CPU time", "of one CPU"), [(f"{found.cpu_s:.2f} s", f"{found.share:.1%}")])


def startup(nodes: int, pods: int, found: Startup) -> None:
    """A full cluster."""
    print(f"\nStart, {nodes} nodes of twenty models with device ids of their own, {pods} Pods bound\n")
    row = (f"{found.ready_s:.1f} s", f"{found.cpu_s:.1f} s", f"{found.memory_mib:.0f} MiB", f"{found.most_mib:.0f} MiB")
    _table(("ready after", "CPU time", "resident", "at most"), [row])


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
    print(f"| {' | '.join(map(str, head))} |")
    print("|---" * len(head) + "|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    print(flush=True)

"""Where the planner's CPU time goes, by the profile of one burst; the steps are told in a Pod's order."""

import pstats
from pathlib import Path
from typing import TypeAlias

Profile: TypeAlias = dict[tuple[str, int, str], tuple[int, int, float, float, object]]

# Step, file, function; times are cumulative, and a step inside another is taken from it.
STEPS = (
    ("split the watch into events", "adapters/kube/follow.py", "_changes"),
    ("a Pod's text into what it asks and has", "wire/live_pod.py", "live_pod_of"),
    ("book what the watch told", "planner/keeper.py", "see_pod"),
    ("bring the index up to date", "planner/keeper.py", "refresh"),
    ("choose node and devices", "place/index.py", "best"),
    ("hold the place", "planner/keeper.py", "hold"),
    ("write the patch", "planner/writes.py", "_patch"),
)
_START = (("adapters/kube/follow.py", "_list"), ("planner/keeper.py", "open"))


def where(path: Path, pods: int) -> list[tuple[str, float, float]]:
    """Step, its part of the time, and its milliseconds a Pod under the profiler, which makes all slower."""
    found: Profile = vars(pstats.Stats(str(path)))["stats"]
    steps = [(name, _spent(found, file, function)) for name, file, function in STEPS]
    whole = _spent(found, "asyncio/base_events.py", "_run_once")
    whole -= sum(_spent(found, file, function) for file, function in _START)
    steps.append(("everything else: event loop, sockets, TLS, tasks", whole - sum(spent for _, spent in steps)))
    return [(name, spent / whole, 1e3 * spent / pods) for name, spent in steps]


def _spent(found: Profile, file: str, function: str) -> float:
    return sum(entry[3] for (path, _, name), entry in found.items() if path.endswith(file) and name == function)

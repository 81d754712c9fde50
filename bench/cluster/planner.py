"""The planner's process under measurement: its CPU time, its memory, and what it says of its own steps."""

import asyncio
import re
import time
from pathlib import Path

from tests.cluster.control_plane import ControlPlane
from tests.cluster.planner_process import PLANNER, PlannerProcess
from tests.cluster.programs import READY_S

_RUN = "from numaplace.tools.cli import main; main()"
_PROFILED = f"""
import cProfile, time
profile = cProfile.Profile(time.process_time)
try:
    profile.runctx({_RUN!r}, {{}}, {{}})
finally:
    profile.dump_stats(%r)
"""
# What the tests of the lane make short.
_DEFAULTS = ("--lease-duration", "15", "--stuck", "30")
_SAMPLE = re.compile(r'^(numaplace_\w+?)_(count|sum)(?:\{\w+="(\w+)"\})? (\S+)$', re.MULTILINE)


def account_file(plane: ControlPlane) -> Path:
    """The kubeconfig with the token of the planner's service account: a certificate costs the API server more."""
    return plane.folder / "account.kubeconfig"


class Planner(PlannerProcess):
    """One planner; with `profile` it writes there where its time went, which makes it slower."""

    def __init__(self, plane: ControlPlane, *options: str, profile: Path | None = None) -> None:
        super().__init__(plane, "planner", *_DEFAULTS, *options)
        swapped: dict[str | Path, str | Path] = {plane.kubeconfig(PLANNER): account_file(plane)}
        if profile is not None:
            swapped[_RUN] = _PROFILED % str(profile)
        self.command = [swapped.get(part, part) for part in self.command]

    async def until_ready(self) -> float:
        """Seconds until it is ready."""
        began_s = time.monotonic()
        await asyncio.to_thread(self.wait, began_s + 5 * READY_S)
        return time.monotonic() - began_s

    def steps(self) -> dict[str, tuple[int, float]]:
        """How often each step was done, and how many seconds that took altogether."""
        found: dict[str, dict[str, float]] = {}
        for name, what, label, value in _SAMPLE.findall(self.page("/metrics")[1].decode()):
            step = label or name.removeprefix("numaplace_").removesuffix("_seconds")
            found.setdefault(step, {})[what] = float(value)
        return {step: (int(both["count"]), both["sum"]) for step, both in found.items() if len(both) == 2}

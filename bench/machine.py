"""Where a figure was measured, and how figures are told.

Times are CPU time of the process: on a quiet machine that is the time on the clock, on
a busy one it still is what the work costs.
"""

import os
import platform
import subprocess
from pathlib import Path


def machine_line() -> str:
    """One line that belongs above every table of figures."""
    names = [line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return (
        f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} cores, "
        f"Python {platform.python_version()}, commit {commit.stdout.strip() or 'unknown'}"
    )


def figures(seconds: list[float]) -> str:
    """Median, 99th percentile and worst in milliseconds of CPU time, and how many."""
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    median = ordered[len(ordered) // 2]
    return f"median {1e3 * median:6.2f}  p99 {1e3 * p99:6.2f}  worst {1e3 * ordered[-1]:7.2f} ms  (n = {len(ordered)})"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []

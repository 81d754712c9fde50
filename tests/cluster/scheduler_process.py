"""A second kube-scheduler beside that of the control plane, whose configuration names an extender.

The configuration is the file that the chart has for people to copy, with the address and
the profiles of the test in it.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from numaplace.model import keys
from tests.cluster.control_plane import SCHEDULER, ControlPlane
from tests.cluster.programs import READY_S, Probe, Program, free_ports
from tests.cluster.stage import GATE, gated
from tests.recorded import ROOT

TEMPLATE = ROOT / "deploy" / "chart" / "files" / "scheduler-config.yaml"
ASKING, ALSO_ASKING = "asking", "also-asking"  # its profiles: spec.schedulerName of Pods


def configuration(url: str, names: Sequence[str] = (ASKING, ALSO_ASKING), **extender: Any) -> dict[str, Any]:
    """The file to copy, for an extender at `url`; what is None is left out of it."""
    found: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text())
    (entry,) = found["extenders"]
    entry = {**entry, "urlPrefix": url, **extender}
    found["extenders"] = [{name: value for name, value in entry.items() if value is not None}]
    return {
        **found,
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": name} for name in names],
    }


def waiting(name: str, **more: Any) -> dict[str, Any]:
    """A Pod at the gate, whose scheduler asks."""
    return gated(name, **{"schedulerName": ASKING, "schedulingGates": [GATE], **more})


def opted_out(name: str, **more: Any) -> dict[str, Any]:
    """A Pod that never saw the gate."""
    pod = gated(name, **{"schedulerName": ASKING, **more})
    pod["metadata"]["annotations"] = {**pod["metadata"]["annotations"], keys.GATE: "off"}
    return pod


class SchedulerProcess(Program):
    """One process; it may be killed and started again."""

    def __init__(self, plane: ControlPlane, config: dict[str, Any], name: str = "asking-scheduler") -> None:
        (port,) = free_ports(1)
        own = plane.kubeconfig("system:kube-scheduler")
        path = plane.folder / f"{name}.json"
        client = {"kubeconfig": str(own), "qps": 5000, "burst": 5000}
        path.write_bytes(msgspec.json.encode({**config, "clientConnection": client}))
        options = {
            "config": path,
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "authentication-kubeconfig": own,
            "authorization-kubeconfig": own,
            "authentication-skip-lookup": "true",
            "authorization-always-allow-paths": "/healthz,/readyz,/livez,/metrics",
        }
        command: list[str | Path] = [
            plane.binaries / SCHEDULER,
            *(f"--{flag}={value}" for flag, value in options.items()),
        ]
        super().__init__(name, command, plane.folder, Probe(port, "/readyz"))

    def start(self) -> None:
        """Start it and wait until it schedules."""
        super().start()
        self.wait(time.monotonic() + READY_S)

    async def restart(self, after_s: float) -> None:
        """End it at once, and start it again after a while, while others go on."""
        self.kill()
        await asyncio.sleep(after_s)
        super().start()  # not in a thread: a program ends with the thread that started it
        await asyncio.to_thread(self.wait, time.monotonic() + READY_S)

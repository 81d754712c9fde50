"""The planner as people run it: a process of its own, with an identity that may do what it needs and no more."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from numaplace.adapters.kube import Key
from numaplace.services.planner import LEASE
from tests.chart.rendered import SPACE
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import Program, free_ports, page

PLANNER = f"system:serviceaccount:{SPACE}:numaplace-planner"  # what its certificate says; the chart gives it its rights
# With short times: what takes minutes in a cluster is seen in seconds.
LEASE_KEY = Key(SPACE, LEASE)
OPTIONS = (
    *("--lease", "/".join(LEASE_KEY), "--lease-duration", "2"),
    *("--stuck", "2", "--aside", "20", "--release-grace", "600"),
)


class PlannerProcess(Program):
    """One process; `kill` is kill -9."""

    def __init__(
        self, plane: ControlPlane, name: str = "planner", *options: str, kubeconfig: Path | None = None
    ) -> None:
        (self.port,) = free_ports(1)
        run = "from numaplace.tools.cli import main; main()"
        access = kubeconfig or plane.kubeconfig(PLANNER)
        command = (sys.executable, "-c", run, "planner", "--kubeconfig", access, "--listen", f"127.0.0.1:{self.port}")
        super().__init__(name, (*command, *OPTIONS, *options), plane.folder, self._is_ready)

    def kill(self) -> None:
        """End it without a word; an AssertionError if it has ended by itself."""
        crashed = self.process is not None and self.process.poll() not in (None, 0)
        super().kill()
        assert not crashed, self.log.read_text()[-3000:]

    def page(self, path: str) -> tuple[int, bytes]:
        """Status and body of one of its pages; status 0 when it does not answer."""
        return page("127.0.0.1", self.port, path)

    def state(self) -> Any:
        return msgspec.json.decode(self.page("/state")[1])

    def _is_ready(self) -> bool:
        return self.page("/readyz")[0] == 200

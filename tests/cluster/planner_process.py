"""The planner as people run it: a process of its own, with an identity that may do what it needs and no more."""

import http.client
import signal
import sys
from types import TracebackType
from typing import Any, Self

import msgspec

from numaplace.adapters.kube import Key
from numaplace.services.planner import LEASE
from tests.chart.rendered import SPACE
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import Program, free_ports

PLANNER = f"system:serviceaccount:{SPACE}:numaplace-planner"  # what its certificate says; the chart gives it its rights
READY_S = 30.0
# With short times: what takes minutes in a cluster is seen in seconds.
LEASE_KEY = Key(SPACE, LEASE)
OPTIONS = (
    *("--lease", "/".join(LEASE_KEY), "--lease-duration", "2"),
    *("--stuck", "2", "--aside", "20", "--release-grace", "600"),
)


class PlannerProcess:
    """One process; `kill` is kill -9."""

    def __init__(self, plane: ControlPlane, name: str = "planner", *options: str) -> None:
        (self.port,) = free_ports(1)
        run = "from numaplace.tools.cli import main; main()"
        access = plane.kubeconfig(PLANNER)
        command = (sys.executable, "-c", run, "planner", "--kubeconfig", access, "--listen", f"127.0.0.1:{self.port}")
        self.log = plane.folder / f"{name}.log"
        self._program = Program(name, (*command, *OPTIONS, *options), plane.folder, self._is_ready)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and go on at once."""
        self._program.start()

    def kill(self) -> None:
        """End it without a word; an AssertionError if it has ended by itself."""
        process = self._program.process
        crashed = process is not None and process.poll() not in (None, 0)
        self._program.kill()
        assert not crashed, self.log.read_text()[-3000:]

    def signal(self, number: int) -> None:
        """Send it a signal."""
        process = self._program.process
        if process is None:
            raise AssertionError("it does not run")
        process.send_signal(number)

    def end(self) -> int:
        """End it as Kubernetes does, and give its exit status."""
        self.signal(signal.SIGTERM)
        return self.wait_for_end()

    def wait_for_end(self) -> int:
        """Its exit status, once it has ended."""
        process = self._program.process
        if process is None:
            raise AssertionError("it does not run")
        return process.wait(READY_S)

    def page(self, path: str) -> tuple[int, bytes]:
        """Status and body of one of its pages; status 0 when it does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def state(self) -> Any:
        return msgspec.json.decode(self.page("/state")[1])

    def _is_ready(self) -> bool:
        return self.page("/readyz")[0] == 200

"""Programs of a control plane as child processes: started with a log, waited for, ended hard."""

import http.client
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.build import LaneError

READY_S = 60.0
_TAIL_LINES = 12


@dataclass(slots=True)
class Program:
    """One program; it may be started again after it was ended."""

    name: str
    command: Sequence[str | Path]
    folder: Path  # where it runs and logs
    ready: Callable[[], bool]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it also ends when this process does, where the system can see to that."""
        setpriv = shutil.which("setpriv")
        bound = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*bound, *self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )

    def wait(self, deadline_s: float) -> None:
        """Return when it is ready; LaneError with the end of its log when it ends or is not by `deadline_s`."""
        while not self.ready():
            if self.process is None or self.process.poll() is not None:
                raise LaneError(f"{self.name} ended while it was starting:\n{self._last_words()}")
            if time.monotonic() > deadline_s:
                raise LaneError(f"{self.name} is not ready after {READY_S:.0f} s:\n{self._last_words()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once. An API server that may end in its own way waits for every open watch."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @property
    def _log(self) -> Path:
        return self.folder / f"{self.name}.log"

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])


@dataclass(slots=True)
class Probe:
    """Asks a program over TLS whether it is ready; a program that does not listen yet is not."""

    port: int
    path: str
    trust: ssl.SSLContext = field(default_factory=lambda: _blind())

    def __call__(self) -> bool:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=2, context=self.trust)
        try:
            connection.request("GET", self.path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _blind() -> ssl.SSLContext:
    """For programs that make themselves a certificate; nothing is told to them and little believed."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()

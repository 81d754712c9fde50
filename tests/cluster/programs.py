"""Programs as child processes: started with a log, waited for, ended hard on leaving or in their own way."""

import http.client
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.build import LaneError

READY_S = 60.0
_TAIL_LINES = 12


@dataclass(slots=True)
class Program:
    """One program, which runs while it is entered; it may be started again after it was ended."""

    name: str
    command: Sequence[str | Path]
    folder: Path  # where it runs and logs
    ready: Callable[[], bool] = lambda: True
    process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """Its process; an AssertionError when it was not started, or was killed."""
        assert self.process is not None, f"{self.name} does not run"
        return self.process

    @property
    def log(self) -> Path:
        """All that it printed, every time it ran."""
        return self.folder / f"{self.name}.log"

    def start(self) -> None:
        """Start it; it also ends when this process does, where the system can see to that."""
        setpriv = shutil.which("setpriv")
        bound = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
        with self.log.open("ab") as log:
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

    def end(self) -> int:
        """End it as Kubernetes does, and give its exit status."""
        self.running.send_signal(signal.SIGTERM)
        return self.running.wait(READY_S)

    def _last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])


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


def page(host: str, port: int, path: str, timeout_s: float = 5.0) -> tuple[int, bytes]:
    """Status and body of a page over plain HTTP; status 0 when there is no answer."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
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

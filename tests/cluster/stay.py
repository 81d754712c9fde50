"""A control plane that stays up for a person: `make cluster-up N=…` and `make cluster-down`.

A process of its own holds it, so it outlives the shell; a file in the cache says which.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from numaplace.adapters.kube import Kube
from numaplace.model.cluster import NodeState
from numaplace.model.errors import InputError
from tests.cluster.build import LaneError, cache_folder, find_programs
from tests.cluster.control_plane import ControlPlane
from tests.cluster.crds import create_crds
from tests.cluster.nodes import alike, create_nodes, described

_STATE = cache_folder() / "standing.json"
_LOG = cache_folder() / "standing.log"
_UP_S = 300.0  # thousands of nodes take a while
_DOWN_S = 30.0


class Standing(msgspec.Struct):
    """The process that holds a control plane."""

    pid: int
    since: str  # when the process began, in clock ticks after boot: a PID alone may be anyone's by now
    kubeconfig: str

    @property
    def alive(self) -> bool:
        """Whether it is there still."""
        return _since(self.pid) == self.since


def up(nodes: int, file: Path | None) -> None:
    """Start one with nodes, unless one is up, and print how to use it."""
    standing = _read()
    if standing is None:
        find_programs()
        standing = _start(nodes, file)
    print(f"export KUBECONFIG={standing.kubeconfig}")


def down() -> None:
    """End the one that is up."""
    standing = _read()
    if standing is None:
        raise LaneError("no control plane is up.")
    os.kill(standing.pid, signal.SIGTERM)
    deadline_s = time.monotonic() + _DOWN_S
    while standing.alive:
        if time.monotonic() > deadline_s:
            raise LaneError(f"process {standing.pid}, which holds the control plane, did not end; see {_LOG}.")
        time.sleep(0.05)


def serve(nodes: int, file: Path | None) -> None:
    """Hold one until SIGTERM."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
    wanted = described(file.read_text()) if file else alike(nodes) if nodes else []
    with ControlPlane() as plane:
        asyncio.run(_furnish(plane, wanted))
        standing = Standing(os.getpid(), _since(os.getpid()), str(plane.kubeconfig("admin", "system:masters")))
        _STATE.write_bytes(msgspec.json.encode(standing))
        try:
            signal.sigwait([signal.SIGTERM, signal.SIGINT])
        finally:
            _STATE.unlink(missing_ok=True)


async def _furnish(plane: ControlPlane, wanted: list[NodeState]) -> None:
    async with Kube(plane.admin()) as admin:
        await create_crds(admin)
        await create_nodes(admin, wanted)


def _start(nodes: int, file: Path | None) -> Standing:
    _LOG.parent.mkdir(parents=True, exist_ok=True)
    options = ["--nodes", str(nodes), *(["--file", str(file)] if file else [])]
    with _LOG.open("wb") as log:
        holder = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, "serve", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline_s = time.monotonic() + _UP_S
    while (standing := _read()) is None:
        if holder.poll() is not None or time.monotonic() > deadline_s:
            raise LaneError(f"the control plane did not come up; {_LOG} ends with:\n{_LOG.read_text()[-1000:]}")
        time.sleep(0.1)
    return standing


def _read() -> Standing | None:
    try:
        standing = msgspec.json.decode(_STATE.read_bytes(), type=Standing)
    except (OSError, msgspec.DecodeError):
        return None
    return standing if standing.alive else None


def _since(pid: int) -> str:
    """When a process began; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def main() -> None:
    """What the Makefile calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["up", "down", "serve"])
    parser.add_argument("--nodes", type=int, default=10, help="how many nodes of the known machine lingjun")
    parser.add_argument("--file", type=Path, help="a nodes file instead")
    asked = parser.parse_args()
    try:
        if asked.what == "down":
            down()
        else:
            {"up": up, "serve": serve}[asked.what](asked.nodes, asked.file)
    except (LaneError, InputError, OSError) as error:
        sys.exit(f"numaplace: {error}")


if __name__ == "__main__":
    main()

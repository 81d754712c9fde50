"""The command line run as people run it, against an API server in memory or a capture."""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numaplace.adapters.kube.fake import FakeServer
from numaplace.model.settings import Settings
from numaplace.tools.live.capturing import Capture, take_names_out
from numaplace.tools.live.spool import spooled
from numaplace.wire.cluster import ClusterObjects, write_cluster

BIN = Path(sys.executable).parent
TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """Its lines, columns one blank apart."""
        assert self.status == 0, self.err
        return [" ".join(line.split()) for line in self.out.splitlines()]


async def say(*arguments: str, program: str = "numaplace", env: Mapping[str, str] | None = None) -> Said:
    """Run a program of ours with nothing of the caller's world but PATH."""
    process = await asyncio.create_subprocess_exec(
        BIN / program,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": str(BIN), "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", **(env or {})},
    )
    async with asyncio.timeout(TIMEOUT_S):
        out, err = await process.communicate()
    return Said(process.returncode or 0, out.decode(), err.decode())


def same_place(landing: Mapping[str, Any], allocation: Mapping[str, Any]) -> bool:
    """Whether a Pod of a simulation's document has what an allocation gives, CPU by CPU and card by card."""
    mine = {name: (share["cpus"], share["gpus"], share["hcas"]) for name, share in landing["containers"].items()}
    theirs = {
        name: (
            share.get("cpus", ""),
            [gpu["pci"] for gpu in share.get("gpus", ())],
            [h["name"] for h in share.get("hcas", ())],
        )
        for name, share in allocation["containers"].items()
    }
    return (landing["node"], landing["numas"], mine) == (allocation["node"], allocation["numas"], theirs)


def capture_of(objects: ClusterObjects, *, ours: bool = False, nameless: bool = False) -> str:
    """The text of a capture of these objects."""
    with spooled(None) as named, spooled(None) as unnamed:
        capture = Capture(named, lambda _: Settings(), only_ours=ours)
        capture.take_all(objects)
        if not nameless:
            return "".join(write_cluster(capture.at_s, named, capture.told))
        taken_out = take_names_out(named, unnamed, Settings())
        return "".join(write_cluster(capture.at_s, map(taken_out, unnamed), capture.told))


def kubeconfig(server: FakeServer, folder: Path, *, namespace: str = "default", token: str = "t") -> str:
    """A kubeconfig of an API server in memory, as a path."""
    path = folder / "config"
    path.write_text(
        json.dumps(
            {
                "current-context": "c",
                "clusters": [{"name": "k", "cluster": {"server": server.access().server}}],
                "users": [{"name": "u", "user": {"token": token}}],
                "contexts": [
                    {"name": "c", "context": {"cluster": "k", "user": "u", "namespace": namespace}},
                    {"name": "elsewhere", "context": {"cluster": "k", "user": "u", "namespace": "other"}},
                ],
            }
        )
    )
    return str(path)

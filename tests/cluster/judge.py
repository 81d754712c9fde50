"""A second scheduler that only says which nodes would take a Pod: its extender writes them down and refuses them all.

So one attempt of the real program gives its verdict on every node, and nothing is ever bound.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from tests.cluster.control_plane import SCHEDULER, ControlPlane
from tests.cluster.programs import READY_S, Probe, Program, free_ports

PROFILE = "judge"
_TEXT = "only asked"


@asynccontextmanager
async def judging(plane: ControlPlane) -> AsyncIterator[dict[str, set[str]]]:
    """Run it; the mapping fills with the nodes that passed, by the name of each Pod that had any."""
    passed: dict[str, set[str]] = {}
    app = web.Application(client_max_size=1 << 24)

    async def note(request: web.Request) -> web.Response:
        asked = msgspec.json.decode(await request.read())
        name, nodes = asked["Pod"]["metadata"]["name"], asked["NodeNames"]
        assert passed.setdefault(name, set(nodes)) == set(nodes), "it changed its mind while nothing changed"
        answer = {"NodeNames": [], "FailedAndUnresolvableNodes": dict.fromkeys(nodes, _TEXT)}
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    app.router.add_post("/filter", note)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    port, own_port = free_ports(2)
    await web.TCPSite(runner, "127.0.0.1", port).start()
    program = _program(plane, port, own_port)
    try:
        program.start()  # not in a thread: a program ends with the thread that started it
        await asyncio.to_thread(program.wait, time.monotonic() + READY_S)
        yield passed
    finally:
        program.kill()
        await runner.cleanup()


def _program(plane: ControlPlane, extender_port: int, own_port: int) -> Program:
    own = plane.kubeconfig("system:kube-scheduler")
    extender = {
        "urlPrefix": f"http://127.0.0.1:{extender_port}",
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "httpTimeout": "10s",
    }
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": 100,
        "profiles": [{"schedulerName": PROFILE, "plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}],
        "extenders": [extender],
        "clientConnection": {"kubeconfig": str(own), "qps": 5000, "burst": 5000},
    }
    path = plane.folder / "judge.json"
    path.write_bytes(msgspec.json.encode(config))
    flags = {
        "config": path,
        "bind-address": "127.0.0.1",
        "secure-port": own_port,
        "authentication-kubeconfig": own,
        "authorization-kubeconfig": own,
        "authentication-skip-lookup": "true",
    }
    command: list[str | Path] = [plane.binaries / SCHEDULER, *(f"--{name}={value}" for name, value in flags.items())]
    return Program("judge", command, plane.folder, Probe(own_port, "/readyz"))

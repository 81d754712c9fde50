"""The chart, installed into a control plane: what `helm template` renders, applied by kubectl, or by helm itself."""

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from numaplace.adapters.kube import InvalidError, Kube
from numaplace.adapters.kube.resources import PODS
from numaplace.adapters.kube.transport import Request
from numaplace.model import keys
from tests.chart.programs import find_tools
from tests.chart.rendered import SPACE, Thing, is_hook, things
from tests.cluster.build import LaneError
from tests.cluster.control_plane import ControlPlane
from tests.objects import OURS, container, pod_object

# Most tests run the planner as a process with the same identity and short times; `test_own_pods.py` has its Pods.
VALUES: Mapping[str, Any] = {"planner": {"replicas": 0}, "agent": {"enabled": True}}
_LAST = ("numaplace-gate", "numaplace-rules")  # of their kind: when they are in force, those before them are
_IN_FORCE_S = 30.0


async def install(plane: ControlPlane, admin: Kube, values: Mapping[str, Any] = VALUES) -> None:
    """Create everything but the hooks, as `helm install` does, and return when the policies are in force."""
    wanted = [thing for thing in things(values=values) if not is_hook(thing)]
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    await apply(plane, [space, *sorted(wanted, key=lambda thing: thing["metadata"]["name"] in _LAST)])
    async with asyncio.timeout(_IN_FORCE_S):
        while not await _in_force(admin):
            await asyncio.sleep(0.1)


async def apply(plane: ControlPlane, wanted: list[Thing]) -> None:
    """Write objects as people do; a field that the API server does not know is an error."""
    listed = {"apiVersion": "v1", "kind": "List", "items": wanted}
    config = plane.kubeconfig("admin", "system:masters")
    done = await kubectl(config, "apply", "--server-side", "--validate=strict", "-f", "-", given=listed)
    if done.returncode != 0:
        raise LaneError(f"the chart cannot be applied:\n{done.stderr}")


async def helm(plane: ControlPlane, *arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """What helm says when it has done it."""
    config = plane.kubeconfig("admin", "system:masters")
    process = await asyncio.create_subprocess_exec(
        find_tools() / "helm",
        *(*arguments, "--namespace", SPACE, "--kubeconfig", str(config)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "HELM_CACHE_HOME": str(plane.folder), "HELM_CONFIG_HOME": str(plane.folder)},
    )
    out, _ = await process.communicate(json.dumps(values or {}).encode())
    assert process.returncode == 0, out.decode()
    return out.decode()


async def kubectl(config: Path, *arguments: str, given: Thing | None = None) -> subprocess.CompletedProcess[str]:
    """Run kubectl as the user of a kubeconfig, with an object on its standard input."""
    command = [str(find_tools() / "kubectl"), "--kubeconfig", str(config), *arguments]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)

    return await asyncio.to_thread(run)


def pod(name: str, limits: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    main = container(limits=limits or {"cpu": "1"}, image="none")
    made = pod_object(main, name=name, **{"annotations": OURS, **more})
    del made["metadata"]["namespace"]
    return made


async def gates(kube: Kube, space: str = "default", **asked: Any) -> list[dict[str, str]]:
    """The gates that a Pod would get."""
    return (await tried(kube, pod("tried", **asked), space))["spec"].get("schedulingGates") or []


async def tried(kube: Kube, pod: Thing, space: str) -> Thing:
    """The Pod as the API server would store it, without storing it."""
    path, body = PODS.path(space), msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", **pod})
    made: Thing = msgspec.json.decode(await kube.send(Request("POST", path, {"dryRun": "All"}, body)))
    return made


async def _in_force(admin: Kube) -> bool:
    waits_at = await gates(admin, SPACE)
    try:
        await tried(admin, pod("bad", annotations={keys.POLICY: "no"}), SPACE)
    except InvalidError:
        return bool(waits_at)
    return False

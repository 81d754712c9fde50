"""What the tests of installing share: Pods to try, and a hand that runs the hook's container in place of a kubelet."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from numaplace.adapters.kube import Key, Kube, merge
from numaplace.adapters.kube.resources import PODS
from tests.chart.rendered import SPACE
from tests.cluster.chart import tried
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import service_account
from tests.cluster.stage import listed
from tests.objects import OURS, container, pod_object

JOB = "numaplace-uninstall"
DEADLINE_S = 60.0


def pod(name: str, limits: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    main = container(limits=limits or {"cpu": "1"}, image="none")
    made = pod_object(main, name=name, **{"annotations": OURS, **more})
    del made["metadata"]["namespace"]
    return made


async def gates(kube: Kube, space: str = "default", **asked: Any) -> list[dict[str, str]]:
    """The gates that a Pod would get."""
    return (await tried(kube, pod("tried", **asked), space))["spec"].get("schedulingGates") or []


async def play_kubelet(plane: ControlPlane, admin: Kube) -> None:
    """Run the hook's container, as the Pod's own service account, and say how it ended."""
    async with asyncio.timeout(DEADLINE_S):
        while (hook := await hook_pod(admin)) is None:
            await asyncio.sleep(0.05)
    spec = hook["spec"]
    access = await service_account(plane, admin, Key(SPACE, spec["serviceAccountName"]))
    config = token_kubeconfig(plane, (await access.credentials.current()).token)
    run = "from numaplace.tools.cli import main; main()"
    command = [sys.executable, "-c", run, *spec["containers"][0]["args"], "--kubeconfig", config]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, wrong = await process.communicate()
    assert process.returncode == 0, wrong.decode()
    ended = merge({"status": {"phase": "Succeeded"}})
    await admin.patch(PODS, hook["metadata"]["name"], ended, SPACE, subresource="status")


async def hook_pod(admin: Kube) -> dict[str, Any] | None:
    """The Pod of the hook's Job, once there is one."""
    return next((one for one in await listed(admin, PODS, SPACE) if one["metadata"]["name"].startswith(JOB)), None)


def token_kubeconfig(plane: ControlPlane, token: str) -> Path:
    """A kubeconfig with a token and nothing else of ours."""
    config = msgspec.json.decode(plane.kubeconfig("nobody").read_bytes())
    config["users"][0]["user"] = {"token": token}
    path = plane.folder / "token.kubeconfig"
    path.write_bytes(msgspec.json.encode(config))
    return path

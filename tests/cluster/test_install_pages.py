"""The commands of the pages about installing, run as they stand, against a control plane of their own."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from numaplace.adapters.kube import Key, Kube
from numaplace.adapters.kube.resources import NAMESPACES, NODES, PODS
from tests.chart.programs import find_tools
from tests.chart.rendered import SPACE
from tests.cluster.chart import gates, pod
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kubelet import Kubelet
from tests.cluster.nodes import plain_node
from tests.cluster.stage import GATE, gone, listed
from tests.docs.console import Command, output_matches, read_commands
from tests.recorded import ROOT

PAGES = [
    ROOT / "docs" / f"{name}.md"
    for name in ("how-to/install", "how-to/install-managed", "reference/extender", "how-to/uninstall")
]
NOT_HERE = {  # and why
    "podman build": "there is nothing here that builds images",
    "podman push": "the same",
    "logs job/": "the kubelet of the tests answers nobody, and the Job is gone when it succeeded",
}
WAITING = {"default": ["waits"], "shop": ["web-0", "web-1"], "batch": ["one", "two"]}
DEADLINE_S = 60.0


@pytest.fixture
async def apart() -> AsyncIterator[ControlPlane]:
    """A control plane for one test, with a node."""
    with ControlPlane() as plane:
        async with Kube(plane.admin()) as admin:
            await admin.create(NODES, plain_node("gpu-1"))
            for space in ("shop", "batch"):
                await admin.create(NAMESPACES, {"metadata": {"name": space}})
            strict = {"pod-security.kubernetes.io/enforce": "restricted"}
            await admin.create(NAMESPACES, {"metadata": {"name": SPACE, "labels": strict}})
        yield plane


@pytest.mark.timeout(300)
async def test_the_pages_about_installing_do_what_they_say(apart: ControlPlane) -> None:
    install, *_ = (one for one in read_commands(PAGES[0]) if one.text.startswith("helm install"))
    installed = False
    async with Kube(apart.admin()) as admin, Kubelet(apart, admin):
        for page in PAGES:
            for command in read_commands(page):
                if any(words in command.text for words in NOT_HERE):
                    continue
                if not installed and "ungate" in command.text:
                    await run(apart, install, page)
                    await furnish(admin)
                    installed = True
                await run(apart, command, page)
                if command == install:
                    await furnish(admin)
                installed = "helm uninstall" not in command.text and (installed or command == install)
        waits = {space: [*map(waits_at, await listed(admin, PODS, space))] for space in WAITING}
    assert waits == {"default": [[GATE]], "shop": [[], []], "batch": [[], []]}  # as the last commands left them


def waits_at(pod: dict[str, Any]) -> list[dict[str, str]]:
    return pod["spec"].get("schedulingGates") or []


async def furnish(admin: Kube) -> None:
    """Pods that wait, once the policies are in force; those of before are made anew."""
    async with asyncio.timeout(DEADLINE_S):
        while not await gates(admin):
            await asyncio.sleep(0.1)
    for space, names in WAITING.items():
        for name in names:
            await gone(admin, PODS, Key(space, name), grace_s=0)
            await admin.create(PODS, pod(name), space)


async def run(plane: ControlPlane, command: Command, page: Path) -> None:
    """Run it as a reader would who is an administrator of the cluster."""
    path = os.pathsep.join((str(Path(sys.executable).parent), str(find_tools()), os.environ["PATH"]))
    process = await asyncio.create_subprocess_exec(
        *("bash", "-o", "pipefail", "-c", command.text),
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": path,
            "KUBECONFIG": str(plane.kubeconfig("admin", "system:masters")),
            "HELM_CACHE_HOME": str(plane.folder),
            "HELM_CONFIG_HOME": str(plane.folder),
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    where = f"{page.relative_to(ROOT)}:{command.line}: $ {command.text}"
    assert process.returncode == command.status, f"{where}\n{out.decode()}"
    assert output_matches(command, out.decode()), f"{where}\n{out.decode()}"

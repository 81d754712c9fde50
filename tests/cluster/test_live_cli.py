"""The commands that look at a cluster, as people run them: with rights to read three lists, and nothing else."""

import asyncio
import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from numaplace.adapters.kube import Kube
from numaplace.adapters.kube.resources import EVENTS
from numaplace.model.settings import Settings
from tests.chart.programs import find_tools
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import Rule, grant
from tests.cluster.nodes import alike
from tests.cluster.planner_process import LEASE_KEY, PlannerProcess
from tests.cluster.stage import DEADLINE_S, Stage, gated, is_bound, listed
from tests.services.planner.reader import allocation_of
from tests.tools.live.console import BIN, Said, say

VIEWER = "test-viewer"
READS = (
    Rule("", ("nodes", "pods"), ("list",)),
    Rule("topology.node.k8s.io", ("noderesourcetopologies",), ("list",)),
)
LEASES = Rule("coordination.k8s.io", ("leases",), ("get",))


@pytest.fixture
async def viewer(plane: ControlPlane, admin: Kube) -> str:
    """The kubeconfig of somebody who may only read."""
    await grant(admin, VIEWER, READS)
    return str(plane.kubeconfig(VIEWER))


@pytest.fixture
async def busy(plane: ControlPlane, stage: Stage) -> Stage:
    """Two Pods that are placed, one that waits, one that is not ours; and no planner any more."""
    await stage.nodes(alike(1))
    with PlannerProcess(plane):
        await stage.add(gated("a", gpus=4, cpus=24), gated("b", gpus=2, cpus=8), gated("waits", gpus=4, cpus=8))
        plain = gated("plain", annotations={})
        plain["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1500m"}}
        await stage.add(plain)
        await stage.until_bound("a", "b", "plain")
        await stage.until_refused("waits")
    return stage


async def test_status_tells_what_the_pods_carry(busy: Stage, viewer: str) -> None:
    document = (await say("status", "--kubeconfig", viewer, "-o", "json")).document
    (node,) = document["nodes"]
    held: dict[str, tuple[list[str], list[str]]] = {}
    for numa in node["numas"]:
        for share in numa["held"]:
            cpus, gpus = held.setdefault(share["pod"].partition("/")[2], ([], []))
            cpus.append(share["cpus"])
            gpus += share["gpus"]
    for pod in await busy.pods():
        name, allocation = pod["metadata"]["name"], allocation_of(pod)
        if allocation:
            share = allocation["containers"]["main"]
            assert held.pop(name) == ([share["cpus"]], [gpu["pci"] for gpu in share["gpus"]])
    assert held == {}
    assert sum(numa["gpus"]["free"] for numa in node["numas"]) == 2
    assert [one["pod"] for one in node["pods"] if not one["chosen"]] == [f"{busy.space}/plain"]
    assert [(one["pod"], one["code"]) for one in document["waiting"]] == [(f"{busy.space}/waits", "GPUS_SHORT")]


async def test_explain_tells_what_the_condition_tells_and_more(busy: Stage, viewer: str) -> None:
    told = await busy.until_refused("waits")
    said = await say("explain", "pod", "waits", "-n", busy.space, "--kubeconfig", viewer)
    assert said.lines[:2] == [f"Pod {busy.space}/waits: waits for a place", told]
    assert "node node-0001: GPUS_SHORT" in said.lines
    placed = await say("explain", "pod", f"{busy.space}/a", "--kubeconfig", viewer)
    assert placed.lines[0] == f"Pod {busy.space}/a: is on node node-0001"
    assert "width 1, at least 1 needed" in placed.out
    plain = await say("explain", "pod", f"{busy.space}/plain", "--kubeconfig", viewer)
    assert plain.lines[0] == f"Pod {busy.space}/plain: is on node node-0001, not placed by numaplace"


async def test_it_is_the_plugin_of_kubectl(busy: Stage, viewer: str) -> None:
    env = {"KUBECONFIG": viewer}
    ours = await say("status", "--node", "node-0001", "--kubeconfig", viewer)
    theirs = await kubectl("numaplace", "status", "--node", "node-0001", env=env)
    assert theirs.out == ours.out
    explained = await kubectl("numaplace", "explain", "pod", "-n", busy.space, "waits", env=env)
    assert explained.lines[0] == f"Pod {busy.space}/waits: waits for a place"
    completed = await kubectl("__complete", "numaplace", "explain", "pod", "-n", busy.space, "w", env=env)
    assert completed.out.splitlines() == ["waits", ":4"]


async def test_nothing_is_written(busy: Stage, admin: Kube, viewer: str) -> None:
    before = await busy.pods(), await listed(admin, EVENTS, busy.space)
    for command in (("status",), ("explain", "pod", f"{busy.space}/waits"), ("capture", "cluster", "-o", "-")):
        assert (await say(*command, "--kubeconfig", viewer)).status == 0
    assert (await busy.pods(), await listed(admin, EVENTS, busy.space)) == before


async def test_a_right_that_is_missing_is_named(plane: ControlPlane, admin: Kube, stage: Stage) -> None:
    await stage.nodes(alike(1))
    await grant(admin, "test-half-viewer", READS[:1])
    said = await say("status", "--kubeconfig", str(plane.kubeconfig("test-half-viewer")))
    assert (said.status, said.out) == (2, "")
    assert 'User "test-half-viewer" cannot list resource "noderesourcetopologies"' in said.err
    assert len(said.err.splitlines()) == 1


async def test_how_the_planner_is_set_up_is_read_from_its_lease(plane: ControlPlane, admin: Kube, stage: Stage) -> None:
    odd, lease = Settings(enable_label="pool", enable_value="hpc"), "/".join(LEASE_KEY)
    await stage.nodes(alike(1, settings=odd), odd)
    with PlannerProcess(plane, "planner", "--enable-label", "pool=hpc") as planner:
        async with asyncio.timeout(DEADLINE_S):
            while planner.page("/state")[0] != 200:  # until it leads
                await asyncio.sleep(0.05)
    enabled = {}
    for who, rights in (("test-near", READS), ("test-nearer", (*READS, LEASES))):
        await grant(admin, who, rights)
        said = await say("status", "-o", "json", "--lease", lease, "--kubeconfig", str(plane.kubeconfig(who)))
        enabled[who] = [node["enabled"] for node in said.document["nodes"]], said.err
    note = (
        f"note: no planner says how it is set up (Lease {lease} may not be read); the options of this command count\n"
    )
    assert enabled == {"test-near": ([False], note), "test-nearer": ([True], "")}


async def test_a_program_that_logs_in_is_run(busy: Stage, viewer: str, tmp_path: Path) -> None:
    config = yaml.safe_load(Path(viewer).read_text())
    user = config["users"][0]["user"]
    status = {
        "clientCertificateData": base64.b64decode(user["client-certificate-data"]).decode(),
        "clientKeyData": base64.b64decode(user["client-key-data"]).decode(),
    }
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    (tmp_path / "credential.json").write_text(json.dumps(credential))
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "/bin/cat",
        "args": [str(tmp_path / "credential.json")],
        "interactiveMode": "Never",
    }
    config["users"][0]["user"] = {"exec": plugin}
    (tmp_path / "config").write_text(json.dumps(config))
    said = await say("status", "--waiting", env={"KUBECONFIG": str(tmp_path / "config")})
    assert said.lines[1].startswith(f"{busy.space}/waits ")


async def test_a_planner_that_goes_on_places_who_waited(plane: ControlPlane, busy: Stage, viewer: str) -> None:
    """What `explain` says of the next step comes true."""
    pod = gated("next", gpus=2, cpus=4)
    await busy.add(pod)
    before = (await say("explain", "pod", f"{busy.space}/next", "--kubeconfig", viewer, "-o", "json")).document
    assert before["sentences"][-1].startswith("by now a node would take it")
    (view,) = before["explanation"]["nodes"]
    with PlannerProcess(plane):
        pods = await busy.until(lambda pods: any(one["metadata"]["name"] == "next" and is_bound(one) for one in pods))
    share = next(allocation_of(one) for one in pods if one["metadata"]["name"] == "next")["containers"]["main"]
    assert (share["cpus"], [gpu["pci"] for gpu in share["gpus"]]) == (view["place"]["cpus"], view["place"]["gpus"])
    after = (await say("explain", "pod", f"{busy.space}/next", "--kubeconfig", viewer, "-o", "json")).document
    assert (after["stand"], after["place"]["width"]) == ("placed", 1)


async def kubectl(*arguments: str, env: Mapping[str, str]) -> Said:
    """Run kubectl with our plugin in its PATH."""
    tools = find_tools()
    path: dict[str, Any] = {"PATH": f"{BIN}{os.pathsep}{tools}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    return await say(*arguments, program=str(tools / "kubectl"), env={**env, **path})

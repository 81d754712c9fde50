"""The planners that the chart installs, as Pods with what Pods are given: helm and kubectl do to them what people do.

One control plane for all tests here, in any order; `kubelet.py` runs the Pods.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from numaplace.adapters.kube import Key, Kube, Resource, StatusError, read_lease, strategic
from numaplace.adapters.kube.credentials import Credential, Fixed
from numaplace.adapters.kube.resources import NODES, PODS
from numaplace.services.planner import LEASE
from numaplace.services.planner.election import candidate_of
from tests.chart.rendered import CHART, IMAGE, RELEASE, SPACE
from tests.cluster.audit import asked
from tests.cluster.chart import helm, kubectl
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import SERVICE_ACCOUNTS
from tests.cluster.kubelet import Kubelet
from tests.cluster.nodes import create_nodes, described, plain_node
from tests.cluster.planner_process import PLANNER
from tests.cluster.scheduler_process import ASKING, SchedulerProcess, configuration
from tests.cluster.stage import Stage, gated, listed
from tests.cluster.volumes import SECRETS
from tests.services.planner.reader import double_grants, misplaced

pytestmark = [pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

DEADLINE_S = 60.0
PLAIN = ("plain-1", "plain-2", "plain-3")
TAINT = {"key": "gpu", "effect": "NoSchedule"}  # keeps the planners where they can be drained
GPU_NODES = {
    "name": "gpu-##",
    "count": 16,
    "machine": "lingjun",
    "labels": {"ack.node.gpu.schedule": "topology"},
    "taints": [TAINT],
}

EXTENDER = f"numaplace-extender.{SPACE}.svc"
WITH_EXTENDER = {
    "cluster": {"schedulers": ["default-scheduler", ASKING]},
    "planner": {"extender": {"enabled": True, "schedulers": [ASKING], "tlsSecret": "extender"}},
}

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")

Story = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Installed:
    """The chart with its defaults, on a cluster of a few nodes."""

    plane: ControlPlane
    admin: Kube
    kubelet: Kubelet
    stage: Stage
    story: Story  # until helm came back

    async def leader(self) -> str:
        """The Pod that the Lease names."""
        lease = await read_lease(self.admin, Key(SPACE, LEASE))
        return "" if lease is None else candidate_of(lease.holder).name

    async def settled(self) -> dict[str, str]:
        """The two planners and their nodes, once both are ready and one leads."""
        found: dict[str, str] = {}

        async def both() -> bool:
            pods = [one for one in await listed(self.admin, PODS, SPACE) if "deletionTimestamp" not in one["metadata"]]
            found.clear()
            found.update((one["metadata"]["name"], one["spec"].get("nodeName", "")) for one in pods if is_ready(one))
            return len(pods) == len(found) == 2 and await self.leader() in found

        await until(both)
        return found

    async def add(self, name: str, **spec: Any) -> None:
        """A Pod that waits at the gate."""
        tolerations = [{"key": TAINT["key"], "operator": "Exists"}]
        await self.stage.add(gated(name, gpus=1, cpus=1, tolerations=tolerations, **spec))

    async def planned(self, *names: str) -> None:
        """Return when they have their places."""
        pods = await self.stage.until_bound(*names)
        assert (misplaced(pods), double_grants(pods)) == ([], [])

    async def plans(self, name: str, **spec: Any) -> None:
        await self.add(name, **spec)
        await self.planned(name)

    async def kubectl(self, *arguments: str) -> None:
        done = await kubectl(self.plane.kubeconfig("admin", "system:masters"), "--namespace", SPACE, *arguments)
        assert done.returncode == 0, done.stderr

    @asynccontextmanager
    async def drained(self, nodes: Iterable[str]) -> AsyncIterator[None]:
        nodes = sorted(set(nodes))
        try:
            await self.kubectl("drain", *nodes, "--timeout=60s")
            yield
        finally:
            await self.kubectl("uncordon", *nodes)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def installed() -> AsyncIterator[Installed]:
    with ControlPlane(audited=[PLANNER]) as plane:
        async with Kube(plane.admin()) as admin, Kubelet(plane, admin) as kubelet:
            for name in PLAIN:
                await admin.create(NODES, plain_node(name))
            chart = (RELEASE, str(CHART), "--create-namespace", "--values", "-")
            await helm(plane, "install", *chart, "--wait", "--timeout", "120s", values=IMAGE)
            story = list(kubelet.story)
            await create_nodes(admin, described(msgspec.json.encode({"nodes": [GPU_NODES]}).decode()))
            yield Installed(plane, admin, kubelet, Stage(admin, "default"), story)


async def test_helm_waits_until_both_planners_are_ready(installed: Installed) -> None:
    assert sorted(word for word, _ in installed.story) == ["ready", "ready", "running", "running"]


async def test_the_one_that_leads_plans_with_the_credentials_of_its_pod(installed: Installed) -> None:
    await installed.settled()
    leader = await installed.leader()
    await installed.plans("with-its-own")
    writers = {one.pod for one in asked(installed.plane) if one.object_ref.get("name") == "with-its-own"}
    assert writers == {leader}


async def test_planners_whose_token_is_refused_use_the_new_one_in_its_place(installed: Installed) -> None:
    """The service account is made anew, so that the tokens of the old one are worth nothing in a few seconds."""
    await installed.settled()
    story, admin, kubelet = list(installed.kubelet.story), installed.admin, installed.kubelet
    (account,) = {one.pod["spec"]["serviceAccountName"] for one in kubelet.running.values()}
    old = [next(one.volumes.glob("*/token")).read_text() for one in kubelet.running.values()]
    metadata = msgspec.json.decode(await admin.get(SERVICE_ACCOUNTS, account, SPACE))["metadata"]
    await admin.delete(SERVICE_ACCOUNTS, account, SPACE)
    kept = {name: metadata[name] for name in ("name", "labels", "annotations")}
    await admin.create(SERVICE_ACCOUNTS, {"metadata": kept}, SPACE)
    await kubelet.renew()
    for token in old:
        await until(partial(is_refused, installed.plane, token))
    await installed.plans("with-another")
    assert kubelet.story == story  # nobody was unready, or started again


async def test_a_drain_leaves_one_planner_ready_all_the_time(installed: Installed) -> None:
    planners, before = await installed.settled(), len(installed.kubelet.story)
    async with installed.drained(planners.values()):
        await installed.plans("after-the-drain")
    story = installed.kubelet.story[before:]
    assert {name for word, name in story if word == "ended"} == planners.keys()
    assert least_ready(planners, story) >= 1


async def test_planners_that_are_not_ready_hold_up_no_drain(installed: Installed) -> None:
    planners = await installed.settled()
    unready = strategic({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
    for name in planners:
        await installed.admin.patch(PODS, name, unready, SPACE, subresource="status")

    async def nobody_is_healthy() -> bool:
        (budget,) = await listed(installed.admin, BUDGETS, SPACE)
        return int(budget["status"]["currentHealthy"]) == 0

    await until(nobody_is_healthy)
    async with installed.drained(planners.values()):
        assert planners.keys().isdisjoint(await installed.settled())


async def test_when_the_pod_of_the_one_that_leads_is_deleted_another_one_plans(installed: Installed) -> None:
    await installed.settled()
    leader = await installed.leader()
    await installed.kubectl("delete", "pod", leader)
    assert ("ended", leader) in installed.kubelet.story
    await installed.plans("after-the-end")
    assert await installed.leader() != leader


async def test_a_planner_that_is_killed_is_started_again_in_its_pod(installed: Installed) -> None:
    await installed.settled()
    leader, before = await installed.leader(), len(installed.kubelet.story)
    installed.kubelet.running[leader].running.kill()
    await installed.plans("after-the-kill")
    await installed.settled()
    assert installed.kubelet.story[before:] == [("again", leader), ("running", leader), ("ready", leader)]


async def test_an_upgrade_rolls_through_and_only_who_holds_the_lease_writes(installed: Installed) -> None:
    planners, before = await installed.settled(), len(installed.kubelet.story)
    files = installed.plane.authority.server("extender", EXTENDER)
    chain, key = (base64.b64encode(one.read_bytes()).decode() for one in files)
    secret = {"type": "kubernetes.io/tls", "data": {"tls.crt": chain, "tls.key": key}}
    await installed.admin.create(SECRETS, {"metadata": {"name": "extender"}, **secret}, SPACE)
    chart = (RELEASE, str(CHART), "--reuse-values", "--values", "-")
    upgrade = asyncio.create_task(
        helm(installed.plane, "upgrade", *chart, "--wait", "--timeout", "120s", values=WITH_EXTENDER)
    )
    names: list[str] = []
    while not upgrade.done():
        names.append(f"meanwhile-{len(names)}")
        await installed.add(names[-1])
        await asyncio.sleep(0.5)
    await upgrade
    await installed.planned(*names)
    now = await installed.settled()
    await asks_over_tls(installed, now)
    story = installed.kubelet.story[before:]
    assert {name for word, name in story if word == "ended"} == planners.keys()
    assert least_ready(planners, story) >= 2
    assert strange_writers(installed.plane) == []


async def asks_over_tls(installed: Installed, planners: Iterable[str]) -> None:
    """A scheduler asks the planner that stands by, which asks the one that leads."""
    leader = await installed.leader()
    (other,) = (installed.kubelet.running[name] for name in planners if name != leader)
    told = msgspec.json.decode(await installed.admin.get(CONFIG_MAPS, "numaplace-scheduler-config", SPACE))
    (entry,) = yaml.safe_load(told["data"]["scheduler-config.yaml"])["extenders"]
    entry["urlPrefix"] = f"https://{other.address}:8481/v1"
    entry["tlsConfig"]["caFile"] = str(installed.plane.authority.certificate)
    with SchedulerProcess(installed.plane, configuration(entry.pop("urlPrefix"), [ASKING], **entry)):
        await installed.plans("asked", schedulerName=ASKING)
    _, metrics = other.page("http", "/metrics")
    assert b'numaplace_extender_answers_total{answer="forwarded",verb="bind"}' in metrics


def is_ready(pod: dict[str, Any]) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or ())


def least_ready(first: Iterable[str], story: Story) -> int:
    """How many were ready when fewest were."""
    ready, least = set(first), len(set(first))
    for word, name in story:
        ready = ready | {name} if word == "ready" else ready - {name}
        least = min(least, len(ready))
    return least


def strange_writers(plane: ControlPlane) -> list[str]:
    """Pods that wrote anything but the Lease while it was not they who had written the Lease last."""
    holder, strange = "", []
    for one in asked(plane):
        if not one.granted or one.verb not in ("create", "update", "patch"):
            continue
        if one.object_ref["resource"] == "leases":
            holder = one.pod
        elif one.pod != holder:
            strange.append(one.pod)
    return strange


async def is_refused(plane: ControlPlane, token: str) -> bool:
    access = replace(plane.access("nobody"), credentials=Fixed(Credential(token)))
    async with Kube(access) as kube:
        try:
            await kube.get(NODES, "gpu-01")
        except StatusError as error:
            return error.code == 401
    return False


async def until(fact: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await fact():
            await asyncio.sleep(0.1)

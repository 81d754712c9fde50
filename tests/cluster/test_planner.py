"""The planner beside the stock scheduler on a real control plane, without an extender."""

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest
import yaml

from numaplace.adapters.kube import Key, Kube, Resource
from numaplace.adapters.kube.fake import Answer, LoseAnswer
from numaplace.adapters.kube.resources import EVENTS, PODS
from numaplace.model import keys
from numaplace.model.settings import Settings
from numaplace.services.planner import Limits, Seat, run
from tests.cluster.control_plane import API_SERVER, SCHEDULER, ControlPlane
from tests.cluster.faulty_proxy import FaultyProxy
from tests.cluster.nodes import alike, described
from tests.cluster.planner_process import LEASE_KEY, PLANNER, PlannerProcess
from tests.cluster.stage import GATE, Stage, gated, gone, is_bound, namespace
from tests.recorded import ROOT
from tests.services.planner.reader import allocation_of, double_grants, misplaced, pin_of, things_of

EXAMPLES = ROOT / "deploy" / "examples"
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
JOBS = Resource("batch", "v1", "jobs", "Job")
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False)
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
SPACES = ("yueming-test", "test")


def example(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    return found


# --- the way of a Pod


@pytest.mark.usefixtures("planner")
async def test_the_examples_lie_where_they_belong(admin: Kube, stage: Stage) -> None:
    await stage.nodes(described((EXAMPLES / "nodes.yaml").read_text()))
    pod, ours = example("pod-example"), example("deployment-tgi-numa")
    try:
        for space in SPACES:
            await namespace(admin, space)
            await claim(admin, space)
        await stage.add(pod)
        await admin.create(DEPLOYMENTS, ours, "yueming-test")
        await admin.create(DEPLOYMENTS, example("deployment-tgi-plain"), "test")
        await admin.create(JOBS, example("job-hps-benchmark"), stage.space)
        (numa,) = await stage.until(lambda pods: [*map(is_bound, pods)] == [True], "yueming-test")
        (plain,) = await stage.until(lambda pods: [*map(is_bound, pods)] == [True], "test")
        both = await stage.until(lambda pods: [*map(is_bound, pods)] == [True, True])
    finally:
        for resource, key in (
            (DEPLOYMENTS, Key("yueming-test", ours["metadata"]["name"])),
            (DEPLOYMENTS, Key("test", "tgi-deployment-basic")),
            (JOBS, Key(stage.space, "hps-benchmark")),
        ):
            await gone(admin, resource, key)
        await stage.clear(*SPACES)
    placed = {one["metadata"]["name"]: one for one in both}
    for one in (placed["example"], numa):
        allocation = allocation_of(one)
        assert one["spec"]["nodeName"].startswith("lingjun-")
        assert (allocation["node"], len(allocation["numas"])) == (one["spec"]["nodeName"], 1)
        (share,) = allocation["containers"].values()
        assert len(share["gpus"]) == 4
        assert len(things_of(one)) == 4 + 24
        assert not {f"{allocation['node']} cpu {cpu}" for cpu in (0, 1, 96, 97)} & things_of(one)
    assert plain["spec"]["nodeName"].startswith("plain-")
    assert not things_of(plain)


async def claim(admin: Kube, space: str, **source: dict[str, str]) -> None:
    """The claim `model` of a namespace, and a volume for it that is on every node."""
    volume = {
        "metadata": {"name": f"model-{space}"},
        "spec": {
            "capacity": {"storage": "100Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": space, "name": "model"},
            **(source or {"hostPath": {"path": "/model"}}),
        },
    }
    await admin.create(VOLUMES, volume)
    (wanted,) = [
        document["spec"]
        for document in yaml.safe_load_all((EXAMPLES / "prerequisites.yaml").read_text())
        if (document["kind"], document["metadata"].get("namespace")) == ("PersistentVolumeClaim", SPACES[0])
    ]
    await admin.create(CLAIMS, {"metadata": {"name": "model"}, "spec": wanted}, space)


@pytest.mark.usefixtures("planner")
async def test_a_pod_that_cannot_fit_is_told_why_and_stays_at_the_gate(stage: Stage) -> None:
    await stage.nodes(alike(2))
    await stage.add(example("too-wide"))
    said = await stage.until_refused("too-wide")
    assert said.startswith("NOT_ALIGNABLE: no place on 2 nodes (2 NOT_ALIGNABLE); nearest: needs 4 GPUs and 120 CPUs")
    assert said.endswith("fits numa 0 with 96 CPUs")
    assert (await stage.pod("too-wide"))["spec"]["schedulingGates"] == [GATE]
    notes = await events_of(stage, "NumaRefused", 1)
    assert notes == [said]


@pytest.mark.usefixtures("planner")
async def test_all_policies_and_their_devices(stage: Stage) -> None:
    await stage.nodes(alike(3))
    for policy, gpus, cpus in (("SingleNUMANode", 4, 24), ("Restricted", 8, 100), ("BestEffort", 6, 64)):
        annotations = {"cpuset-scheduler": "required", keys.POLICY: policy}
        await stage.add(gated(policy.lower(), gpus=gpus, cpus=cpus, annotations=annotations))
    pods = await stage.until_bound("singlenumanode", "restricted", "besteffort")
    widths = {one["metadata"]["name"]: allocation_of(one)["reached"]["width"] for one in pods}
    assert widths == {"singlenumanode": 1, "restricted": 2, "besteffort": 2}
    assert misplaced(pods) == []


@pytest.mark.usefixtures("planner")
async def test_a_node_is_filled_to_the_last_card_and_nothing_is_given_twice(stage: Stage) -> None:
    await stage.nodes(alike(3))
    names = [f"p{i:02}" for i in range(12)]
    await stage.add(*(gated(name) for name in names))
    pods = await stage.until_bound(*names)
    assert Counter(one["spec"]["nodeName"] for one in pods) == Counter({f"node-{i:04}": 4 for i in (1, 2, 3)})
    assert len({thing for one in pods for thing in things_of(one) if "gpu" in thing}) == 24
    assert misplaced(pods) == []


# --- waiting


async def test_a_freed_card_goes_to_who_waits(stage: Stage, planner: PlannerProcess) -> None:
    await stage.nodes(alike(1))
    await stage.add(gated("old-a", gpus=4, cpus=24), gated("old-b", gpus=4, cpus=24))
    pods = await stage.until_bound("old-a", "old-b")
    uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in pods}
    await stage.in_use("node-0001", uids.values())
    await stage.add(gated("waits", gpus=4, cpus=24), gated("waits-too", gpus=4, cpus=24))
    await stage.until_refused("waits", "GPUS_SHORT")
    await gone(stage.admin, PODS, Key(stage.space, "old-b"), grace_s=0)
    await stage.in_use("node-0001", [uids["old-a"]])
    pods = await stage.until_bound("waits")
    placed = next(one for one in pods if one["metadata"]["name"] == "waits")
    planned = [one for one in placed["status"]["conditions"] if one["type"] == keys.PLANNED]
    assert [(one["status"], one["reason"]) for one in planned] == [("True", "Placed")]
    assert (await stage.until_refused("waits-too")).startswith("GPUS_SHORT")
    holders = planner.state()["nodes"]["node-0001"]["holders"]
    assert {(one["pod"].split("/")[1], one["phase"]) for one in holders} >= {("old-a", "granted"), ("waits", "granted")}


@pytest.mark.usefixtures("planner")
async def test_cordons_and_taints_are_judged_before_a_plan(stage: Stage) -> None:
    await stage.nodes(alike(3))
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    await stage.change_node("node-0001", {"spec": {"unschedulable": True}})
    await stage.change_node("node-0002", {"spec": {"taints": [taint]}})
    toleration = {"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
    await stage.add(gated("plain"))
    await stage.add(gated("tolerant", nodeSelector={"kubernetes.io/hostname": "node-0002"}, tolerations=[toleration]))
    pods = await stage.until_bound("plain", "tolerant")
    nodes = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in pods}
    assert nodes == {"plain": "node-0003", "tolerant": "node-0002"}
    await stage.change_node("node-0003", {"spec": {"unschedulable": True}})
    await stage.add(gated("late"))
    assert "(3 NODE_RULE)" in await stage.until_refused("late", "NODE_RULE")
    await stage.change_node("node-0001", {"spec": {"unschedulable": False}})
    await stage.until_bound("late")


# --- what goes wrong


@pytest.mark.parametrize("seen", [0, 1, 7, 15])
@pytest.mark.parametrize("point", ["gate", "binding"])
async def test_a_planner_that_is_killed_is_followed_by_one_that_goes_on(
    plane: ControlPlane, stage: Stage, seen: int, point: str
) -> None:
    reached = {"gate": lambda pod: not pod["spec"].get("schedulingGates"), "binding": is_bound}
    await stage.nodes(alike(4))
    names = [f"p{i:02}" for i in range(16)]
    with PlannerProcess(plane) as first:
        await stage.add(*(gated(name) for name in names))
        await stage.until(lambda pods: sum(map(bool, map(reached[point], pods))) >= seen)
        first.kill()
        assert double_grants(await stage.pods()) == []
        first.start()
        pods = await stage.until_bound(*names)
    assert misplaced(pods) == []
    assert len({thing for one in pods for thing in things_of(one)}) == 16 * (2 + 12)


async def test_writes_whose_answers_are_lost_or_wrong_are_made_once(plane: ControlPlane, stage: Stage) -> None:
    names = [f"p{i}" for i in range(8)]
    async with FaultyProxy(plane.access(PLANNER), plane.authority) as proxy, Kube(proxy.access()) as kube:
        planner = asyncio.create_task(run(kube, Settings(), Limits(), Seat(LEASE_KEY), None))
        try:
            await stage.add(*(gated(name) for name in names))
            for name in names:
                await stage.until_refused(name, "NODE_RULE")  # so that a hint comes first
            for effect in (LoseAnswer(), Answer(409, "Conflict"), Answer(500, "InternalError"), LoseAnswer()):
                proxy.fail(effect, "PATCH", "/status")
                proxy.fail(effect, "PATCH", "/pods/p")
            await stage.nodes(alike(2))
            pods = await stage.until_bound(*names)
            proxy.cut_watches()
            await stage.add(gated("late", gpus=8, cpus=8))
            await stage.until_refused("late", "GPUS_SHORT")
        finally:
            planner.cancel()
            await asyncio.wait([planner])
    assert misplaced(pods) == []
    assert len({thing for one in pods for thing in things_of(one)}) == 8 * (2 + 12)


async def test_after_a_write_that_failed_the_pod_itself_is_asked(plane: ControlPlane, stage: Stage) -> None:
    await stage.nodes(alike(1))
    async with FaultyProxy(plane.access(PLANNER), plane.authority) as proxy, Kube(proxy.access()) as kube:
        planner = asyncio.create_task(run(kube, Settings(), Limits(), Seat(LEASE_KEY), None))
        try:
            await stage.add(gated("first"))
            await stage.until_bound("first")
            proxy.fail(Answer(500, "InternalError"), "PATCH", "/pods/second")
            await stage.add(gated("second"))
            pods = await stage.until_bound("second")
        finally:
            planner.cancel()
            await asyncio.wait([planner])
    way = [one.split()[0] for one in proxy.asked if one.endswith("/pods/second")]
    assert way == ["PATCH", "GET", "PATCH"]
    assert misplaced(pods) == []


@pytest.mark.usefixtures("planner")
async def test_programs_of_the_control_plane_may_die(plane: ControlPlane, stage: Stage) -> None:
    await stage.nodes(alike(4))
    names = [f"p{i:02}" for i in range(12)]
    await stage.add(*(gated(name) for name in names[:6]))
    plane.kill(SCHEDULER)
    await stage.add(*(gated(name) for name in names[6:]))
    await stage.until(lambda pods: sum(bool(pin_of(one)) for one in pods) == 12)
    plane.kill(API_SERVER)
    await plane.start(API_SERVER)
    await plane.start(SCHEDULER)
    assert misplaced(await stage.until_bound(*names)) == []


@pytest.mark.usefixtures("planner")
async def test_a_rule_that_nobody_foresaw_costs_an_owned_pod_one_detour(admin: Kube, stage: Stage) -> None:
    """How many volumes a driver can attach is left to the scheduler: the planned node can take none."""
    await stage.nodes(alike(2))
    await claim(admin, stage.space, csi={"driver": "disks.example", "volumeHandle": "v"})
    for node, most in (("node-0001", 0), ("node-0002", 8)):
        driver = {"name": "disks.example", "nodeID": node, "allocatable": {"count": most}}
        await admin.create(CSI_NODES, {"metadata": {"name": node}, "spec": {"drivers": [driver]}})
    volume = {"name": "model", "persistentVolumeClaim": {"claimName": "model"}}
    template = gated("", volumes=[volume])
    template["metadata"] = {"annotations": template["metadata"]["annotations"], "labels": {"app": "disks"}}
    deployment = {
        "metadata": {"name": "disks"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "disks"}}, "template": template},
    }
    await admin.create(DEPLOYMENTS, deployment, stage.space)
    try:
        pods = await stage.until(lambda pods: sum(map(is_bound, pods)) == 1)
        assert {one["spec"]["nodeName"] for one in pods if is_bound(one)} == {"node-0002"}
        assert len(await events_of(stage, "NumaStuck", 1)) == 1
    finally:
        await gone(admin, DEPLOYMENTS, Key(stage.space, "disks"))
        for node in ("node-0001", "node-0002"):
            await gone(admin, CSI_NODES, Key("", node))


async def test_it_ends_when_it_is_told_to_and_says_how_it_is(plane: ControlPlane, stage: Stage) -> None:
    await stage.nodes(alike(1))
    planner = PlannerProcess(plane, "ends")
    with planner:
        await stage.add(gated("p"))
        await stage.until_bound("p")
        assert planner.page("/healthz") == (200, b"ok\n")
        assert planner.page("/readyz") == (200, b"ok\n")
        assert b'numaplace_plans_total{answer="placed"} 1.0' in planner.page("/metrics")[1]
        assert planner.end() == 0
    lines = [msgspec.json.decode(line) for line in planner.log.read_bytes().splitlines()]
    assert [one["message"] for one in lines if one["message"] in ("plans", "ended")] == ["plans", "ended"]


async def events_of(stage: Stage, reason: str, count: int) -> list[str]:
    """The notes of all events of that reason in the namespace, once there are as many."""
    async with asyncio.timeout(30):
        while True:
            listed = [
                one async for page in stage.admin.pages(EVENTS, dict, namespace=stage.space) for one in page.objects
            ]
            notes = [one["note"] for one in listed if one["reason"] == reason]
            if len(notes) >= count:
                return notes
            await asyncio.sleep(0.05)

"""Pods whose place depends on other Pods, on ports and on claims: planned so that the stock scheduler never says no."""

import json
from collections import Counter
from typing import Any

import pytest

from numaplace.adapters.kube import Key, Kube
from numaplace.adapters.kube.resources import CLAIMS, EVENTS, PODS, VOLUMES
from numaplace.model.cluster import NodeState
from tests.cluster.nodes import described
from tests.cluster.stage import Stage, gated, gone, listed
from tests.objects import pod_object

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONES = {f"{zone}{i}": zone for zone in "abc" for i in (1, 2)}


def zoned() -> list[NodeState]:
    """Two nodes in each of three zones."""
    enabled = {"ack.node.gpu.schedule": "topology"}
    machine = "2pkg 2numa 64cpu 8gpu"
    groups = [{"name": one, "machine": machine, "labels": {**enabled, ZONE: zone}} for one, zone in ZONES.items()]
    return described(json.dumps({"nodes": groups}))


def selected(app: str) -> dict[str, Any]:
    return {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}}


def labelled(pod: dict[str, Any], app: str) -> dict[str, Any]:
    pod["metadata"]["labels"] = {"app": app}
    return pod


def pod(name: str, app: str, **more: Any) -> dict[str, Any]:
    return labelled(gated(name, gpus=1, cpus=2, **more), app)


async def places(stage: Stage, *names: str) -> dict[str, str]:
    pods = await stage.until_bound(*names)
    return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in pods if one["metadata"]["name"] in names}


@pytest.mark.usefixtures("planner")
async def test_pods_lie_beside_and_apart_from_each_other_and_nobody_is_stuck(admin: Kube, stage: Stage) -> None:
    await stage.nodes(zoned())
    spread = {**selected("web"), "maxSkew": 1, "minDomains": 3, "whenUnsatisfiable": "DoNotSchedule"}
    web = [f"web-{i}" for i in range(6)]
    cache = [f"cache-{i}" for i in range(3)]
    beside = {"podAffinity": {REQUIRED: [selected("web")]}, "podAntiAffinity": {REQUIRED: [selected("cache")]}}
    await stage.add(*(pod(name, "cache", affinity=beside) for name in cache))
    assert "Pod affinity to Pods with app In [web]" in await stage.until_refused("cache-0", "NODE_RULE")
    await stage.add(*(pod(name, "web", topologySpreadConstraints=[spread]) for name in web))
    at = await places(stage, *web, *cache)
    assert Counter(ZONES[at[name]] for name in web) == {"a": 2, "b": 2, "c": 2}
    assert Counter(ZONES[at[name]] for name in cache) == {"a": 1, "b": 1, "c": 1}
    await stage.add(pod("cache-3", "cache", affinity=beside))
    assert "anti-affinity: avoids Pod" in await stage.until_refused("cache-3", "NODE_RULE")
    assert await stuck(admin, stage) == []


@pytest.mark.usefixtures("planner")
async def test_ports_and_foreign_pods_count(admin: Kube, stage: Stage) -> None:
    await stage.nodes(zoned())
    guard = labelled(pod_object({"name": "main", "image": "none"}, name="guard", nodeName="a1"), "guard")
    del guard["metadata"]["namespace"]
    guard["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: [selected("port")]}}
    await stage.add(guard)
    ports = {"ports": [{"containerPort": 80, "hostPort": 8080}]}
    names = [f"port-{i}" for i in range(5)]
    await stage.add(*(pod(name, "port", container=ports) for name in names))
    at = await places(stage, *(await bound_of(stage, names, 4)))
    assert sorted(at.values()) == ["b1", "b2", "c1", "c2"]
    (left,) = set(names) - at.keys()
    assert (await stage.until_refused(left)).startswith("NODE_RULE")
    assert await stuck(admin, stage) == []


async def bound_of(stage: Stage, names: list[str], count: int) -> list[str]:
    """The names of those that are bound, once there are so many."""

    def bound(pods: list[dict[str, Any]]) -> list[str]:
        return [p["metadata"]["name"] for p in pods if p["metadata"]["name"] in names and p["spec"].get("nodeName")]

    return bound(await stage.until(lambda pods: len(bound(pods)) == count))


@pytest.mark.usefixtures("planner")
async def test_a_pod_waits_for_its_claim_and_goes_where_the_volume_is(admin: Kube, stage: Stage) -> None:
    await stage.nodes(zoned())
    volume = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    await stage.add(pod("p", "p", volumes=volume))
    assert "claim data does not exist" in await stage.until_refused("p", "NODE_RULE")
    name = f"v-{stage.space}"
    here = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}
    size = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOncePod"], "storageClassName": "", "volumeName": name, "resources": size}
    await admin.create(CLAIMS, {"metadata": {"name": "data"}, "spec": spec}, stage.space)
    made = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOncePod"],
        "hostPath": {"path": "/v"},
        "claimRef": {"namespace": stage.space, "name": "data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [here]}},
    }
    try:
        await admin.create(VOLUMES, {"metadata": {"name": name}, "spec": made})
        at = await places(stage, "p")
        assert ZONES[at["p"]] == "b"
        await stage.add(pod("second", "p", volumes=volume))
        await stage.until_refused("second", "NODE_RULE")  # the claim is for one Pod at a time
        await gone(admin, PODS, Key(stage.space, "p"), grace_s=0)
        await stage.until_bound("second")
        assert await stuck(admin, stage) == []
    finally:
        await gone(admin, VOLUMES, Key("", name))


async def stuck(admin: Kube, stage: Stage) -> list[str]:
    """What was said of Pods that the scheduler did not take where they were planned."""
    return [one["note"] for one in await listed(admin, EVENTS, stage.space) if one["reason"] == "NumaStuck"]

"""Pods whose place depends on other Pods, on claims, on namespaces: where they go, and what wakes those that wait."""

import json
from typing import Any

from numaplace.adapters.kube import Key
from numaplace.adapters.kube.resources import CLAIMS, NAMESPACES, STORAGE_CLASSES, VOLUMES
from numaplace.model.cluster import NodeState
from tests.cluster.nodes import described
from tests.objects import container, pod_object
from tests.services.planner.world import REQUIRED, SETTINGS, SMALL, SPACE, World, gated, world_of

ZONE = "topology.kubernetes.io/zone"


def zoned(*zones: str) -> list[NodeState]:
    """Nodes n1, n2 … in these zones."""
    enabled = {SETTINGS.enable_label: SETTINGS.enable_value}
    groups = [
        {"name": f"n{i}", "machine": SMALL, "labels": {**enabled, ZONE: zone}} for i, zone in enumerate(zones, start=1)
    ]
    return described(json.dumps({"nodes": groups}), SETTINGS)


def term(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def labelled(pod: dict[str, Any], **labels: str) -> dict[str, Any]:
    pod["metadata"]["labels"] = labels
    return pod


def near(name: str, *terms: dict[str, Any], **more: Any) -> dict[str, Any]:
    return gated(name, affinity={"podAffinity": {REQUIRED: list(terms)}}, **more)


def apart(name: str, *terms: dict[str, Any], **more: Any) -> dict[str, Any]:
    return gated(name, affinity={"podAntiAffinity": {REQUIRED: list(terms)}}, **more)


def even(name: str, app: str, **more: Any) -> dict[str, Any]:
    """A Pod of an app that is spread over zones."""
    selector = {"matchLabels": {"app": app}}
    rule = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return labelled(gated(name, topologySpreadConstraints=[{**rule, **more}]), app=app)


def running(name: str, node: str, **labels: str) -> dict[str, Any]:
    """A Pod that is none of ours, on its node."""
    return labelled(pod_object(container(), name=name, namespace=SPACE, nodeName=node, priority=0), **labels)


def node_of(world: World, name: str) -> str:
    node: str = world.pod(name)["spec"].get("nodeName", "")
    return node


async def test_who_wants_company_waits_for_it_and_goes_where_it_is() -> None:
    async with world_of(zoned("a", "b")) as world:
        world.add(near("p", term("db")))
        world.start()
        await world.until_refused("p", code="NODE_RULE")
        assert "Pod affinity to Pods with app In [db]; none is in topology.kubernetes.io/zone=" in world.refusal("p")
        world.add(running("db", "n2", app="db"))
        await world.until_bound("p")
        assert node_of(world, "p") == "n2"


async def test_a_label_that_a_running_pod_gets_counts() -> None:
    async with world_of(zoned("a", "b")) as world:
        world.add(running("db", "n2"), near("p", term("db")))
        world.start()
        await world.until_refused("p", code="NODE_RULE")
        world.change("db", lambda pod: pod["metadata"].update(labels={"app": "db"}))
        await world.until_bound("p")
        assert node_of(world, "p") == "n2"


async def test_a_pod_that_was_promised_a_place_is_company_already() -> None:
    async with world_of(zoned("a", "b"), scheduling=False) as world:
        world.add(near("p", term("db")))
        world.start()
        await world.until_refused("p", code="NODE_RULE")
        world.add(labelled(gated("db", nodeSelector={ZONE: "b"}), app="db"))
        await world.until(lambda: world.pod("p")["status"].get("nominatedNodeName") == "n2")


async def test_the_first_of_a_series_goes_anywhere_and_the_others_follow() -> None:
    async with world_of(zoned("a", "b")) as world:
        names = [f"p{i}" for i in range(4)]
        world.add(*(labelled(near(name, term("web")), app="web") for name in names))
        world.start()
        await world.until_bound(*names)
        assert len({node_of(world, name) for name in names}) == 1


async def test_those_that_avoid_each_other_by_zone_go_apart_until_one_leaves() -> None:
    async with world_of(zoned("a", "a", "b")) as world:
        world.add(*(labelled(apart(name, term("web")), app="web") for name in ("p1", "p2")))
        world.start()
        await world.until_bound("p1", "p2")
        assert {node_of(world, name) == "n3" for name in ("p1", "p2")} == {True, False}
        world.add(labelled(apart("p3", term("web")), app="web"))
        await world.until_refused("p3", code="NODE_RULE")
        assert "anti-affinity: avoids Pod ns/p" in world.refusal("p3")
        world.change("p1", lambda pod: pod["status"].update(phase="Succeeded"))
        await world.until_bound("p3")


async def test_a_running_pod_keeps_others_out_of_its_zone() -> None:
    async with world_of(zoned("a", "b")) as world:
        guard = running("guard", "n1")
        guard["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: [term("web")]}}
        world.add(guard, *(labelled(gated(name), app="web") for name in ("p1", "p2", "p3")))
        world.start()
        await world.until_bound("p1", "p2", "p3")
        assert {node_of(world, name) for name in ("p1", "p2", "p3")} == {"n2"}


async def test_pods_are_spread_and_wait_where_one_more_would_tip_the_scale() -> None:
    async with world_of(zoned("a", "b")) as world:
        world.add(*(even(f"p{i}", "web") for i in range(4)))
        world.start()
        await world.until_bound(*(f"p{i}" for i in range(4)))
        assert sorted(node_of(world, f"p{i}") for i in range(4)) == ["n1", "n1", "n2", "n2"]


async def test_a_pod_that_waits_for_balance_goes_when_another_comes_to_the_emptier_zone() -> None:
    async with world_of(zoned("a", "b")) as world:
        world.change_node("n2", lambda node: node["spec"].update(unschedulable=True))
        world.add(even("p1", "web"), even("p2", "web"))
        world.start()
        await world.until(lambda: sum(bool(node_of(world, name)) for name in ("p1", "p2")) == 1)
        waits = "p1" if not node_of(world, "p1") else "p2"
        await world.until_refused(waits, code="NODE_RULE")
        world.add(running("other", "n2", app="web"))
        await world.until_bound(waits)
        assert node_of(world, waits) == "n1"


async def test_a_host_port_is_had_by_one_pod_at_a_time() -> None:
    async with world_of(zoned("a")) as world:
        for name in ("p1", "p2"):
            pod = gated(name)
            pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
            world.add(pod)
        world.start()
        await world.until_bound("p1")
        await world.until_refused("p2", code="NODE_RULE")
        assert "host port 8080/TCP; Pod ns/p1 on the node has it" in world.refusal("p2")
        world.remove("p1")
        world.uses("n1")
        await world.until_bound("p2")


def with_claim(name: str, claim: str) -> dict[str, Any]:
    return gated(name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])


def claim(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": SPACE}, "spec": {"accessModes": ["ReadWriteOnce"], **spec}}


async def test_a_pod_waits_for_its_claim_and_goes_where_the_volume_is() -> None:
    async with world_of(zoned("a", "b")) as world:
        world.add(with_claim("p", "data"))
        world.start()
        await world.until_refused("p", code="NODE_RULE")
        assert "claim data does not exist" in world.refusal("p")
        world.server.store.add(CLAIMS, SPACE, claim("data", volumeName="v1"))
        await world.quiet()
        assert not node_of(world, "p")
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}]
        volume = {"metadata": {"name": "v1"}, "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}
        world.server.store.add(VOLUMES, "", volume)
        bound = claim("data", volumeName="v1")
        bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        world.server.store.change(CLAIMS, Key(SPACE, "data"), bound)
        await world.until_bound("p")
        assert node_of(world, "p") == "n2"


async def test_a_claim_that_waits_for_its_pod_is_no_obstacle() -> None:
    async with world_of(zoned("a")) as world:
        world.add(with_claim("p", "data"))
        world.server.store.add(CLAIMS, SPACE, claim("data", storageClassName="late"))
        world.start()
        await world.until_refused("p", code="NODE_RULE")
        assert "claim data is not bound to a volume yet" in world.refusal("p")
        late = {"metadata": {"name": "late"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}
        world.server.store.add(STORAGE_CLASSES, "", late)
        await world.until_bound("p")


async def test_a_claim_for_one_pod_at_a_time_is_had_by_one() -> None:
    async with world_of(zoned("a", "b")) as world:
        one = claim("data", volumeName="v1", accessModes=["ReadWriteOncePod"])
        one["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        world.server.store.add(CLAIMS, SPACE, one)
        world.server.store.add(VOLUMES, "", {"metadata": {"name": "v1"}, "spec": {}})
        world.add(with_claim("p1", "data"), with_claim("p2", "data"))
        world.start()
        await world.until_bound("p1")
        await world.until_refused("p2", code="NODE_RULE")
        assert "claim data is for one Pod at a time (ReadWriteOncePod); Pod ns/p1 uses it" in world.refusal("p2")
        world.remove("p1")
        await world.until_bound("p2")


async def test_the_labels_of_namespaces_say_whom_a_rule_means() -> None:
    async with world_of(zoned("a", "b")) as world:
        world.server.store.add(NAMESPACES, "", {"metadata": {"name": SPACE}})
        meant = term("db", namespaceSelector={"matchLabels": {"team": "x"}})
        world.add(running("db", "n2", app="db"), near("p", meant))
        world.start()
        await world.until_refused("p", code="NODE_RULE")
        world.server.store.change(NAMESPACES, Key("", SPACE), {"metadata": {"name": SPACE, "labels": {"team": "x"}}})
        await world.until_bound("p")
        assert node_of(world, "p") == "n2"

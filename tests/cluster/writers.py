"""Every way to write an annotation of a Pod, and Pods to try them on."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from numaplace.adapters.kube import Key, Kube, Resource, apply, merge, strategic
from numaplace.adapters.kube.resources import PODS
from numaplace.model import keys
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import Rule
from tests.cluster.planner_process import PLANNER
from tests.cluster.stage import gone
from tests.objects import OURS, container, pod_object

LEGACY = Resource("", "v1", "bindings", "Binding")
FOREIGN = {"name": "other.example/first"}
ANYTHING = (  # what no person should be given, and some are
    Rule(
        "",
        ("pods", "pods/status", "pods/ephemeralcontainers", "pods/resize"),
        ("get", "create", "update", "patch", "delete"),
    ),
    Rule("", ("pods/binding", "bindings"), ("create",)),
)
Way = Callable[[Kube, str, str], Awaitable[object]]


async def by_patch(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "p", strategic({"metadata": {"annotations": {key: "{}"}}}), space)


async def by_merge(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "p", merge({"metadata": {"annotations": {key: "{}"}}}), space)


async def by_apply(kube: Kube, space: str, key: str) -> None:
    head = {"apiVersion": "v1", "kind": "Pod"}
    await kube.patch(
        PODS, "p", apply({**head, "metadata": {"name": "p", "annotations": {key: "{}"}}}, manager="m"), space
    )


async def by_replacing(kube: Kube, space: str, key: str) -> None:
    found = msgspec.json.decode(await kube.get(PODS, "p", space))
    found["metadata"]["annotations"][key] = "{}"
    await kube.replace(PODS, "p", found, space)


async def by_status(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "p", merge({"metadata": {"annotations": {key: "{}"}}}), space, subresource="status")


async def by_removing(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "planned", merge({"metadata": {"annotations": {key: None}}}), space)


async def by_changing_a_bound_pod(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "bound", merge({"metadata": {"annotations": {key: "{}"}}}), space)


def binding(name: str, key: str) -> dict[str, Any]:
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    return {"metadata": {"name": name, "annotations": {key: "{}"}}, "target": target}


async def by_binding(kube: Kube, space: str, key: str) -> None:
    body = {"apiVersion": "v1", "kind": "Binding", **binding("free", key)}
    await kube.create(PODS, body, space, name="free", subresource="binding")


async def by_legacy_binding(kube: Kube, space: str, key: str) -> None:
    await kube.create(LEGACY, binding("free", key), space)


WAYS: list[Way] = [by_patch, by_merge, by_apply, by_replacing, by_status, by_removing, by_changing_a_bound_pod]
BINDINGS: list[Way] = [by_binding, by_legacy_binding]


def pod(name: str, annotations: dict[str, str] = OURS, **spec: Any) -> dict[str, Any]:
    made = pod_object(container(limits={"cpu": "1"}, image="none"), annotations=annotations, name=name, **spec)
    del made["metadata"]["namespace"]
    return made


@asynccontextmanager
async def pods_at_all_stages(admin: Kube, plane: ControlPlane, space: str) -> AsyncIterator[str]:
    """Pods at our gate, one with an allocation; one that waits for a scheduler that is not there; one on node n1."""
    for body in (
        pod("p", schedulingGates=[FOREIGN]),
        pod("planned"),
        pod("free", {}, schedulerName="nobody"),
        pod("bound", {}, nodeName="n1"),
    ):
        await admin.create(PODS, body, space)
    async with Kube(plane.access(PLANNER)) as planner:
        for name in ("planned", "bound"):
            written = merge({"metadata": {"annotations": {keys.ALLOCATION: '{"v":1}'}}})
            await planner.patch(PODS, name, written, space, subresource="status")
    yield space
    for name in ("p", "planned", "free", "bound"):
        await gone(admin, PODS, Key(space, name), grace_s=0)

"""What tests of the planner do to a real cluster, and how they wait for what it does."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from numaplace.adapters.kube import ConflictError, Key, Kube, NotFoundError, Resource, merge
from numaplace.adapters.kube.resources import NAMESPACES, NODES, PODS, REPORTS
from numaplace.model import keys
from numaplace.model.cluster import NodeState
from numaplace.model.settings import Settings
from tests.cluster.nodes import create_nodes
from tests.objects import container, pod_object

DEADLINE_S = 30.0
SINGLE = {"cpuset-scheduler": "required", "numaplace.dev/policy": "SingleNUMANode"}
GATE = {"name": keys.PLAN_GATE}


def gated(name: str, *, gpus: int = 2, cpus: int = 12, annotations: Any = SINGLE, **spec: Any) -> dict[str, Any]:
    """A Pod that the chart's policy lets wait at our gate."""
    limits = {"cpu": str(cpus), "aliyun.com/gpu": str(gpus)}
    main = container(limits=limits, image="none", **spec.pop("container", {}))
    pod = pod_object(main, annotations=annotations, name=name, **spec)
    del pod["metadata"]["namespace"]
    return pod


class Stage:
    """One namespace of Pods, and all the nodes of the cluster."""

    def __init__(self, admin: Kube, space: str) -> None:
        self.admin, self.space = admin, space

    async def nodes(self, nodes: Iterable[NodeState], settings: Settings = Settings()) -> None:
        await create_nodes(self.admin, nodes, settings)

    async def add(self, *pods: dict[str, Any], space: str = "") -> None:
        await asyncio.gather(*(self.admin.create(PODS, pod, space or self.space) for pod in pods))

    async def pods(self, space: str = "") -> list[dict[str, Any]]:
        return [
            pod async for page in self.admin.pages(PODS, dict, namespace=space or self.space) for pod in page.objects
        ]

    async def pod(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(await self.admin.get(PODS, name, self.space))
        return found

    async def change_node(self, name: str, change: dict[str, Any]) -> None:
        await self.admin.patch(NODES, name, merge(change))

    async def in_use(self, node: str, uids: Iterable[str]) -> None:
        """The agent of a node reports what runs there."""
        report = msgspec.json.decode(await self.admin.get(REPORTS, node))
        attributes = [one for one in report["attributes"] if one["name"] != keys.IN_USE]
        listed = msgspec.json.encode({uid: {} for uid in uids}).decode()
        change = {"attributes": [*attributes, {"name": keys.IN_USE, "value": listed}]}
        await self.admin.patch(REPORTS, node, merge(change))

    async def until(self, fact: Callable[[list[dict[str, Any]]], bool], space: str = "") -> list[dict[str, Any]]:
        """The Pods of the namespace once the fact holds of them."""
        pods: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(DEADLINE_S):
                while True:
                    pods = await self.pods(space)
                    if fact(pods):
                        return pods
                    await asyncio.sleep(0.05)
        except TimeoutError:
            states = {pod["metadata"]["name"]: (pod["spec"].get("nodeName"), pod["status"]) for pod in pods}
            raise AssertionError(f"still not after {DEADLINE_S:.0f} s: {states}") from None

    async def until_bound(self, *names: str) -> list[dict[str, Any]]:
        return await self.until(lambda pods: set(names) <= {one["metadata"]["name"] for one in pods if is_bound(one)})

    async def until_refused(self, name: str, code: str = "") -> str:
        """The sentence of a Pod's condition once it has one, of this code where one is named."""
        pods = await self.until(
            lambda pods: any(
                one["metadata"]["name"] == name and refusal(one).startswith(code) and refusal(one) for one in pods
            )
        )
        return next(refusal(one) for one in pods if one["metadata"]["name"] == name)

    async def clear(self, *spaces: str) -> None:
        """Take all Pods of the namespaces and all nodes away."""
        for space in (self.space, *spaces):
            for pod in await self.pods(space):
                await gone(self.admin, PODS, Key(space, pod["metadata"]["name"]), grace_s=0)
        for resource in (REPORTS, NODES):
            async for page in self.admin.pages(resource, dict):
                for thing in page.objects:
                    await gone(self.admin, resource, Key("", thing["metadata"]["name"]))


async def listed(admin: Kube, resource: Resource, space: str) -> list[dict[str, Any]]:
    return [thing async for page in admin.pages(resource, dict, namespace=space) for thing in page.objects]


async def gone(admin: Kube, resource: Resource, key: Key, grace_s: int | None = None) -> None:
    try:
        await admin.delete(resource, key.name, key.namespace, grace_s=grace_s)
    except NotFoundError:
        return


async def namespace(admin: Kube, name: str) -> None:
    try:
        await admin.create(NAMESPACES, {"metadata": {"name": name}})
    except ConflictError:
        return


def is_bound(pod: dict[str, Any]) -> bool:
    return bool(pod["spec"].get("nodeName"))


def refusal(pod: dict[str, Any]) -> str:
    """Code and sentence of the condition, or nothing."""
    for one in pod["status"].get("conditions") or ():
        if (one["type"], one["status"]) == (keys.PLANNED, "False"):
            return f"{one['reason']}: {one['message']}"
    return ""

"""The node rules say of random Pods and nodes what the real scheduler says.

NUMAPLACE_RULES_WORLDS is how many clusters are made up (each some thousands of verdicts),
NUMAPLACE_RULES_SEED the seed of the first.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from numaplace.adapters.kube import Key, Kube, Resource
from numaplace.adapters.kube.resources import CLAIMS, NAMESPACES, NODES, PODS, STORAGE_CLASSES, VOLUMES
from numaplace.decide.rules import Company, check, looked_up
from numaplace.model.allocation import Allocation
from numaplace.model.catalog import Catalog
from numaplace.model.cluster import ClusterState, Holder, NodeState, node_state
from numaplace.model.ids import NodeName
from numaplace.model.live_pod import LivePod, Stage
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.wire.catalog import (
    ClaimObject,
    NamespaceObject,
    StorageClassObject,
    VolumeObject,
    claim_of,
    namespace_of,
    storage_class_of,
    volume_of,
)
from numaplace.wire.live_pod import live_pod_of, ungate
from numaplace.wire.nodes import NodeObject, node_of
from numaplace.wire.pod_object import PodObject
from tests.cluster.control_plane import ControlPlane
from tests.cluster.judge import PROFILE, judging
from tests.cluster.random_rules import RandomCluster
from tests.cluster.stage import gone, listed

WORLDS = int(os.environ.get("NUMAPLACE_RULES_WORLDS", "2"))
FIRST_SEED = int(os.environ.get("NUMAPLACE_RULES_SEED", "1"))
NODES_EACH, PLACED_EACH, JUDGED_EACH, CLAIMS_EACH = 40, 70, 150, 12
DEADLINE_S = 60.0
SETTINGS = Settings()


@pytest.fixture
async def spaces(admin: Kube) -> AsyncIterator[tuple[str, str]]:
    """Two namespaces with labels of their own."""
    names = []
    for team in ("a", "b"):
        made = await admin.create(
            NAMESPACES, {"metadata": {"generateName": f"rules-{team}-", "labels": {"team": team}}}
        )
        names.append(msgspec.json.decode(made)["metadata"]["name"])
    yield names[0], names[1]
    for name in names:
        await admin.delete(NAMESPACES, name)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + WORLDS))
async def test_every_node_gets_the_verdict_of_the_real_scheduler(
    plane: ControlPlane, admin: Kube, spaces: tuple[str, str], seed: int
) -> None:
    world = RandomCluster(random.Random(seed), spaces, f"w{seed}")
    try:
        await _set_up(admin, world)
        state, catalog = await _read(admin, spaces)
        async with judging(plane) as passed:
            objects = world.waiting(JUDGED_EACH, PROFILE)
            await _create(admin, PODS, objects)
            requests = [_looked_up(pod, catalog) for pod in await _judged(admin, spaces, JUDGED_EACH)]
            company = Company(state)
            verdicts = {
                (request.name, node.name): _verdict(request, node, company)
                for request in requests
                for node in state.nodes.values()
            }
            _compare(verdicts, passed)
            pinned = list(_pinned(world.draw, objects, requests, verdicts))
            await _create(admin, PODS, (pod for pod, _ in pinned))
            await _judged(admin, spaces, JUDGED_EACH + len(pinned))
        dead = [
            (pod["metadata"]["name"], node) for pod, node in pinned if passed.get(pod["metadata"]["name"]) != {node}
        ]
        assert not dead, "a planned Pod is kept to a node that the scheduler does not take"
    finally:
        await _clear(admin, world)


Verdicts = dict[tuple[str, NodeName], tuple[Refusal | None, Refusal | None]]


def _verdict(request: PodRequest, node: NodeState, company: Company) -> tuple[Refusal | None, Refusal | None]:
    """What the rules say, and what they say without the one that holds only because a plan pins its Pod."""
    around = company.around(request)
    loose = replace(request, rules=replace(request.rules, spreads=())) if request.rules.spreads else request
    every, most = (check(one, node.rules, node.requests, SETTINGS, around) for one in (request, loose))
    return every, most


def _compare(verdicts: Verdicts, passed: dict[str, set[str]]) -> None:
    differ = [
        (pod, node, refusal and refusal.sentence)
        for (pod, node), (_, refusal) in verdicts.items()
        if (refusal is None) != (node in passed.get(pod, set()))
    ]
    assert not differ, f"{len(differ)} of {len(verdicts)} verdicts differ: {differ[:5]}"
    assert len(verdicts) == NODES_EACH * JUDGED_EACH
    said = Counter(refusal.sentence.split()[0] if refusal else "yes" for _, refusal in verdicts.values())
    assert said["yes"] > 100, said
    rules = {"anti-affinity:", "Pod", "topology", "host", "claim", "volume", "required", "the"}
    assert len(rules & said.keys()) > len(rules) - 2, f"{rules - said.keys()} were not tried"


def _pinned(
    draw: random.Random, objects: Iterable[dict[str, Any]], requests: Iterable[PodRequest], verdicts: Verdicts
) -> Iterator[tuple[dict[str, Any], NodeName]]:
    """Each Pod that may go somewhere once more, kept to one of those nodes as a plan keeps it."""
    by_name = {one["metadata"]["name"]: one for one in objects}
    for request in requests:
        nodes = sorted(node for (pod, node), (refusal, _) in verdicts.items() if pod == request.name and not refusal)
        if nodes:
            node, pod = draw.choice(nodes), by_name[request.name]
            allocation = Allocation(node, (), request.policy, 1, {})
            kept = ungate(LivePod(request.uid, request.namespace, request.name, request), request, allocation)
            affinity = {**pod["spec"].get("affinity", {}), **kept["spec"]["affinity"]}
            meta = {**pod["metadata"], "name": f"{request.name}-pinned"}
            yield {"metadata": meta, "spec": {**pod["spec"], "affinity": affinity}}, node


async def _set_up(admin: Kube, world: RandomCluster) -> None:
    await _create(admin, NODES, world.nodes(NODES_EACH))
    await _create(admin, STORAGE_CLASSES, world.classes())
    claims = world.claims(CLAIMS_EACH)
    await _create(admin, VOLUMES, (volume for _, volume in claims if volume is not None))
    await _create(admin, CLAIMS, (claim for claim, _ in claims), world.spaces[0])
    await _settled(admin, world, [volume for _, volume in claims if volume is not None])
    placed = world.placed(PLACED_EACH)
    await _create(admin, PODS, placed)
    for pod in placed:
        if world.maybe(0.06):
            await admin.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])


async def _create(admin: Kube, resource: Resource, things: Iterable[dict[str, Any]], space: str = "") -> None:
    turn = asyncio.Semaphore(16)

    async def create(thing: dict[str, Any]) -> None:
        async with turn:
            await admin.create(resource, thing, space or thing["metadata"].get("namespace", ""))

    await asyncio.gather(*map(create, things))


async def _settled(admin: Kube, world: RandomCluster, volumes: list[dict[str, Any]]) -> None:
    """Return when the controller has bound what can be bound."""

    def done(claims: list[dict[str, Any]]) -> bool:
        phases = Counter(one.get("status", {}).get("phase") for one in claims)
        return phases["Bound"] == len(volumes) and phases["Lost"] >= 1

    await _until(lambda: listed(admin, CLAIMS, world.spaces[0]), done)


async def _until(read: Callable[[], Any], fact: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    things: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                things = await read()
                if fact(things):
                    return things
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"still not: {[(one['metadata']['name'], one.get('status')) for one in things]}") from None


async def _judged(admin: Kube, spaces: tuple[str, str], count: int) -> list[LivePod]:
    """The Pods once there are so many and every one of them was tried."""

    async def waiting() -> list[dict[str, Any]]:
        pods = [one for space in spaces for one in await listed(admin, PODS, space)]
        return [one for one in pods if one["spec"]["schedulerName"] == PROFILE]

    def tried(pod: dict[str, Any]) -> bool:
        return any(one["type"] == "PodScheduled" for one in pod["status"].get("conditions", ()))

    pods = await _until(waiting, lambda pods: len(pods) == count and all(map(tried, pods)))
    return [live_pod_of(msgspec.convert(one, PodObject), SETTINGS) for one in pods]


async def _read(admin: Kube, spaces: tuple[str, str]) -> tuple[ClusterState, Catalog]:
    """The cluster as the planner would know it, from what the API server holds."""
    claims = [claim_of(one) for space in spaces for one in await _typed(admin, CLAIMS, ClaimObject, space)]
    catalog = Catalog(
        {(one.namespace, one.name): one for one in claims},
        {one.name: one for one in map(volume_of, await _typed(admin, VOLUMES, VolumeObject))},
        {one.name: one for one in map(storage_class_of, await _typed(admin, STORAGE_CLASSES, StorageClassObject))},
    )
    nodes: dict[str, NodeState] = {}
    for thing in await _typed(admin, NODES, NodeObject):
        rules = node_of(thing, "node")
        nodes[rules.name] = node_state(rules.name, rules)
    for space in spaces:
        for pod in (live_pod_of(one, SETTINGS) for one in await _typed(admin, PODS, PodObject, space)):
            if pod.stage is Stage.BOUND and pod.node in nodes:
                nodes[pod.node] = nodes[pod.node].holding(Holder(_looked_up(pod, catalog)))
    spaces_known = map(namespace_of, await _typed(admin, NAMESPACES, NamespaceObject))
    labels = MappingProxyType({one.name: one.labels for one in spaces_known})
    return ClusterState(MappingProxyType({node.name: node for node in nodes.values()}), labels), catalog


async def _typed(admin: Kube, resource: Resource, kind: type[Any], space: str = "") -> list[Any]:
    return [one async for page in admin.pages(resource, kind, namespace=space) for one in page.objects]


def _looked_up(pod: LivePod, catalog: Catalog) -> PodRequest:
    assert isinstance(pod.asks, PodRequest), pod.asks
    return looked_up(pod.asks, catalog)


async def _clear(admin: Kube, world: RandomCluster) -> None:
    for space in world.spaces:
        for resource in (PODS, CLAIMS):
            names = [one["metadata"]["name"] for one in await listed(admin, resource, space)]
            await asyncio.gather(*(gone(admin, resource, Key(space, name), grace_s=0) for name in names))
    for resource in (NODES, VOLUMES, STORAGE_CLASSES):
        for one in await listed(admin, resource, ""):
            await gone(admin, resource, Key("", one["metadata"]["name"]))

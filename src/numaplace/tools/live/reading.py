"""What a cluster holds, read once, into the planner's own book.

The keeper and the decoders are the planner's, so that what is shown is what it would
see. Rights to list Nodes, reports and Pods are enough; who may also list namespaces and
volumes is told of the rules about them.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from numaplace.adapters.kube import Access, DeniedError, ExpiredError, Key, Kube, Resource
from numaplace.adapters.kube.objects import metadata_of
from numaplace.adapters.kube.resources import CLAIMS, NAMESPACES, NODES, PODS, REPORTS, STORAGE_CLASSES, VOLUMES
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.model.settings import Settings
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.news import News
from numaplace.tools.live.told import Word, word_of_planner
from numaplace.wire.catalog import (
    CatalogObject,
    ClaimObject,
    NamespaceObject,
    StorageClassObject,
    VolumeObject,
    entry_of,
)
from numaplace.wire.cluster import ClusterObjects
from numaplace.wire.live_pod import live_pod_of
from numaplace.wire.nodes import NodeObject, ReportObject, node_of
from numaplace.wire.pod_object import PodObject

T = TypeVar("T")

LOOKED_UP: tuple[tuple[Resource, type[CatalogObject]], ...] = (
    (NAMESPACES, NamespaceObject),
    (CLAIMS, ClaimObject),
    (VOLUMES, VolumeObject),
    (STORAGE_CLASSES, StorageClassObject),
)
LIST_ATTEMPTS = 3  # a list that takes longer than the server remembers its version is begun again


@dataclass(frozen=True, slots=True)
class Reading:
    """A cluster as its planner would see it."""

    keeper: Keeper
    objects: ClusterObjects
    news: tuple[News, ...]  # what the book makes of it: promises that clash, Pods that strayed
    problems: tuple[str, ...]  # what could not be read, in sentences


def read_cluster(access: Access, lease: Key) -> tuple[ClusterObjects, Word]:
    """List what there is, and ask the planner's Lease; KubeError says what the API server has against it."""
    return asyncio.run(_listed(access, lease))


async def _listed(access: Access, lease: Key) -> tuple[ClusterObjects, Word]:
    async with Kube(access) as kube:
        problems: list[str] = []
        nodes, reports, pods, catalog, word = await asyncio.gather(
            _all_of(kube, NODES, NodeObject, problems),
            _all_of(kube, REPORTS, ReportObject, problems),
            _all_of(kube, PODS, PodObject, problems),
            _catalog(kube, problems),
            word_of_planner(kube, lease),
        )
    return ClusterObjects(nodes, reports, pods, time.time(), catalog, tuple(problems), word.text), word


async def _catalog(kube: Kube, problems: list[str]) -> tuple[CatalogObject, ...] | None:
    """What the node rules look up; None where we may not see all of it, and these rules are then left out."""
    try:
        found = await asyncio.gather(*(_all_of(kube, resource, kind, problems) for resource, kind in LOOKED_UP))
    except DeniedError:
        return None
    return tuple(thing for listed in found for thing in listed)


async def _all_of(kube: Kube, resource: Resource, kind: type[T], problems: list[str]) -> tuple[T, ...]:
    found: list[T] = []
    problems += await list_all(kube, resource, kind, take=found.append, again=found.clear)
    return tuple(found)


async def list_all(
    kube: Kube, resource: Resource, kind: type[T], *, take: Callable[[T], None], again: Callable[[], None]
) -> list[str]:
    """Hand every object over as its page arrives; `again`: all so far were for nothing. What could not be read."""
    for attempt in range(LIST_ATTEMPTS):
        broken: list[str] = []
        try:
            async for page in kube.pages(resource, kind):
                for thing in page.objects:
                    take(thing)
                broken += (f"{resource.kind} {_name_in(body)}: {problem}" for body, problem in page.broken)
        except ExpiredError:
            if attempt + 1 == LIST_ATTEMPTS:
                raise
            again()
            continue
        return broken
    raise AssertionError("the last attempt returns or raises")


def _name_in(body: bytes) -> str:
    meta = metadata_of(body)
    return f"{meta.namespace}/{meta.name}" if meta.namespace else str(meta.name)


def booked(objects: ClusterObjects, settings: Settings, limits: Limits) -> Reading:
    """The planner's book of these objects; what it cannot read is told and left out, as the planner does it."""
    looks_up = objects.catalog is not None
    keeper = Keeper(settings, limits, clock=lambda: 0.0, wall=lambda: objects.at_s, looks_up=looks_up)
    problems = list(objects.problems)
    for thing in objects.catalog or ():
        try:
            keeper.see_entry(entry_of(thing))
        except InputError as error:
            problems.append(str(error))
    for node in objects.nodes:
        try:
            keeper.nodes.see(node_of(node, f"Node {node.metadata.name}"))
        except InputError as error:
            problems.append(str(error))
    for report in objects.reports:
        try:
            keeper.nodes.see_report(NodeName(report.metadata.name or ""), report)
        except InputError as error:
            problems.append(str(error))
    for pod in objects.pods:
        keeper.see_pod(live_pod_of(pod, settings))
    keeper.open()
    return Reading(keeper, objects, tuple(keeper.news()), tuple(problems))

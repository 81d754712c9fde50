"""The planner's watches: Nodes, reports, Pods and what the node rules look up, from bytes to the keeper.

Each is one task. `listed` is set when every list was told; what cannot be read is
logged and counted, and never stops the others.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from numaplace.adapters.kube import Broken, Follower, Gone, Kube, Resource, Seen, Synced, Trouble
from numaplace.adapters.kube.objects import HasMetadata, Key
from numaplace.adapters.kube.resources import CLAIMS, NAMESPACES, NODES, PODS, REPORTS, STORAGE_CLASSES, VOLUMES
from numaplace.model.catalog import Claim, Entry, Namespace, StorageClass, Volume
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName, PodUid
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.metrics import Metrics
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
from numaplace.wire.live_pod import live_pod_of
from numaplace.wire.nodes import NodeObject, ReportObject, node_of
from numaplace.wire.pod_object import PodObject

_LOG = logging.getLogger(__name__)
T = TypeVar("T", bound=HasMetadata)


@dataclass(frozen=True, slots=True)
class _Catalogued(Generic[T]):
    """A resource that the node rules look up."""

    resource: Resource
    kind: type[T]
    read: Callable[[T], Entry]
    bare: Callable[[Key], Entry]  # what stands for one that is gone


_NAMESPACES = _Catalogued(NAMESPACES, NamespaceObject, namespace_of, lambda key: Namespace(key.name))
_CLAIMS = _Catalogued(CLAIMS, ClaimObject, claim_of, lambda key: Claim(key.namespace, key.name))
_VOLUMES = _Catalogued(VOLUMES, VolumeObject, volume_of, lambda key: Volume(key.name))
_CLASSES = _Catalogued(STORAGE_CLASSES, StorageClassObject, storage_class_of, lambda key: StorageClass(key.name))


class Watches:
    """Tells the keeper what the API server tells; `changed` is set after each batch."""

    def __init__(self, kube: Kube, keeper: Keeper, metrics: Metrics, changed: asyncio.Event) -> None:
        self._kube, self._keeper, self._metrics, self._changed = kube, keeper, metrics, changed
        followed = (NODES, REPORTS, PODS, NAMESPACES, CLAIMS, VOLUMES, STORAGE_CLASSES)
        self._missing = {resource.plural for resource in followed}
        self.listed = asyncio.Event()

    def all(self) -> Iterator[Coroutine[None, None, None]]:
        """What is to run for ever, one task each."""
        yield from (self.nodes(), self.reports(), self.pods())
        yield from (self.looked_up(_NAMESPACES), self.looked_up(_CLAIMS))
        yield from (self.looked_up(_VOLUMES), self.looked_up(_CLASSES))

    @property
    def missing(self) -> tuple[str, ...]:
        """The resources whose list was not told yet."""
        return tuple(sorted(self._missing))

    async def nodes(self) -> None:
        """Follow the Nodes, for ever."""
        async for steps in Follower(self._kube, NODES, NodeObject).steps():
            for step in steps:
                match step:
                    case Seen(key, node):
                        try:
                            self._keeper.nodes.see(node_of(node, f"Node {key.name}"))
                        except InputError as error:
                            self._unread(NODES, error)
                            self._keeper.nodes.lose(NodeName(key.name))
                    case Gone(key) | Broken(key):
                        self._keeper.nodes.lose(NodeName(key.name))
                self._note(NODES, step)
            self._heard()

    async def reports(self) -> None:
        """Follow the reports, for ever."""
        async for steps in Follower(self._kube, REPORTS, ReportObject).steps():
            for step in steps:
                match step:
                    case Seen(key, report):
                        try:
                            self._keeper.nodes.see_report(NodeName(key.name), report)
                        except InputError as error:
                            self._unread(REPORTS, error)
                    case Gone(key) | Broken(key):
                        self._keeper.nodes.lose_report(NodeName(key.name))
                self._note(REPORTS, step)
            self._heard()

    async def pods(self) -> None:
        """Follow the Pods, for ever; one that cannot be read any more keeps what it was booked for."""
        async for steps in Follower(self._kube, PODS, PodObject).steps():
            for step in steps:
                match step:
                    case Seen(_, pod):
                        self._keeper.see_pod(live_pod_of(pod, self._keeper.settings))
                    case Gone(_, uid):
                        self._keeper.lose_pod(PodUid(uid))
                self._note(PODS, step)
            self._heard()

    async def looked_up(self, what: _Catalogued[T]) -> None:
        """Follow one resource that the node rules look up, for ever."""
        async for steps in Follower(self._kube, what.resource, what.kind).steps():
            for step in steps:
                match step:
                    case Seen(key, thing):
                        try:
                            self._keeper.see_entry(what.read(thing))
                        except InputError as error:
                            self._unread(what.resource, error)
                            self._keeper.lose_entry(what.bare(key))
                    case Gone(key) | Broken(key):
                        self._keeper.lose_entry(what.bare(key))
                self._note(what.resource, step)
            self._heard()

    def _note(self, resource: Resource, step: object) -> None:
        match step:
            case Synced():
                self._missing.discard(resource.plural)
                _LOG.info("listed", extra={"resource": resource.plural})
            case Trouble(error):
                self._metrics.troubles.labels(resource.plural).inc()
                _LOG.warning("a watch broke", extra={"resource": resource.plural, "error": str(error)})
            case Broken(key, problem):
                self._metrics.troubles.labels(resource.plural).inc()
                _LOG.warning("an object is not of its kind", extra={"object": "/".join(key), "error": problem})

    def _unread(self, resource: Resource, error: InputError) -> None:
        self._metrics.troubles.labels(resource.plural).inc()
        _LOG.warning("an object cannot be read", extra={"resource": resource.plural, "error": str(error)})

    def _heard(self) -> None:
        if not self._missing:
            self.listed.set()
        self._changed.set()

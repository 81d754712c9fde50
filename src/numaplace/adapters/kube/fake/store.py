"""The objects of the fake API server, their versions, and what happened to them lately."""

import asyncio
import copy
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from numaplace.adapters.kube.fake import refusals
from numaplace.adapters.kube.objects import Key
from numaplace.adapters.kube.resources import Resource

Object = dict[str, Any]


class Happened(NamedTuple):
    """One change, with the object as it was then."""

    version: int
    resource: Resource
    change: str  # ADDED, MODIFIED or DELETED
    object: Object


def now() -> str:
    """The time as objects spell it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Store:
    """One counter of versions for all resources, as etcd has it."""

    version: int = 1000
    oldest: int = 1000  # watches may begin here or later
    objects: dict[Resource, dict[Key, Object]] = field(default_factory=dict)
    history: deque[Happened] = field(default_factory=deque)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def all_of(self, resource: Resource, namespace: str = "") -> list[Object]:
        """The objects, of one namespace where one is named, by key."""
        kept = self.objects.get(resource, {})
        return [copy.deepcopy(kept[key]) for key in sorted(kept) if namespace in ("", key.namespace)]

    def get(self, resource: Resource, key: Key) -> Object:
        """The object; a refusal if there is none."""
        try:
            return copy.deepcopy(self.objects[resource][key])
        except KeyError:
            raise refusals.not_found(resource.plural, key.name) from None

    def add(self, resource: Resource, namespace: str, thing: Object) -> Object:
        """A new object; a refusal if the name is taken."""
        metadata = thing.setdefault("metadata", {})
        if not metadata.get("name"):
            metadata["name"] = f"{metadata.get('generateName', '')}{uuid4().hex[:5]}"
        key = Key(namespace, metadata["name"])
        if key in self.objects.get(resource, {}):
            raise refusals.exists(resource.plural, key.name)
        if namespace:
            metadata["namespace"] = namespace
        metadata |= {"uid": str(uuid4()), "creationTimestamp": now()}
        thing |= {"apiVersion": resource.api_version, "kind": resource.kind}
        return self._write(resource, key, thing, "ADDED")

    def change(self, resource: Resource, key: Key, thing: Object) -> Object:
        """The object in its new form; a refusal if its resourceVersion or uid is not the kept one's.

        What does not change is not written, and no event tells of it.
        """
        kept = self.get(resource, key)
        metadata = thing.setdefault("metadata", {})
        if metadata.get("resourceVersion") not in (None, "", kept["metadata"]["resourceVersion"]):
            raise refusals.modified(resource.plural, key.name)
        check_uid(resource, kept, metadata.get("uid"))
        for name in ("name", "namespace", "uid", "creationTimestamp", "resourceVersion"):
            if name in kept["metadata"]:
                metadata[name] = kept["metadata"][name]
        thing |= {"apiVersion": resource.api_version, "kind": resource.kind}
        return kept if thing == kept else self._write(resource, key, thing, "MODIFIED")

    def remove(self, resource: Resource, key: Key) -> Object:
        """Take the object away; its last version is that of its end."""
        thing = self.get(resource, key)
        del self.objects[resource][key]
        return self._happened(resource, thing, "DELETED")

    def since(self, resource: Resource, version: int) -> list[Happened]:
        """What happened to the resource after a version; a refusal if that is forgotten."""
        if version < self.oldest:
            raise refusals.expired(f"too old resource version: {version} ({self.oldest})")
        return [one for one in self.history if one.version > version and one.resource == resource]

    def forget(self) -> None:
        """Lose the history, as a server does after a while: older versions are expired."""
        self.history.clear()
        self.version += 1
        self.oldest = self.version

    async def news(self) -> None:
        """Wait until something happens."""
        await self._news.wait()

    def wake(self) -> None:
        """Let everyone look who waits for news."""
        self._news.set()
        self._news = asyncio.Event()

    def _write(self, resource: Resource, key: Key, thing: Object, change: str) -> Object:
        happened = self._happened(resource, thing, change)
        self.objects.setdefault(resource, {})[key] = happened
        return copy.deepcopy(happened)

    def _happened(self, resource: Resource, thing: Object, change: str) -> Object:
        self.version += 1
        thing = copy.deepcopy(thing)
        thing["metadata"]["resourceVersion"] = str(self.version)
        self.history.append(Happened(self.version, resource, change, thing))
        self.wake()
        return thing


def check_uid(resource: Resource, kept: Object, uid: str | None) -> None:
    """A refusal if a UID is named that is not this object's."""
    actual = kept["metadata"]["uid"]
    if uid not in (None, "", actual):
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}"
        raise refusals.conflict(resource.plural, kept["metadata"]["name"], why)

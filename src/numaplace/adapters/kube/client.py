"""`Kube`: the verbs of an API server on objects as bytes, and lists in typed pages.

Services use it and the functions built on it (`bind`, `evict`, `post_event`, leases,
`Follower`). What an object means is read by the decoders in `wire`.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from numaplace.adapters.kube.patch import Patch
from numaplace.adapters.kube.resources import Resource
from numaplace.adapters.kube.transport import Request, Transport

T = TypeVar("T")

PAGE_SIZE = 500  # what kubectl and client-go ask for


class _ListMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, Generic[T]):
    items: list[T] | None = None
    metadata: _ListMetadata = msgspec.field(default_factory=_ListMetadata)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list; objects that are not of the asked kind stand apart, with what is wrong with them."""

    objects: tuple[T, ...]
    version: str  # of the whole list: where a watch continues
    broken: tuple[tuple[bytes, str], ...] = ()


class Kube(Transport):
    """A client of one API server; use it as an async context manager. Errors are KubeErrors.

    `namespace` is left empty for objects of the cluster. Bodies are anything that
    JSON can hold; apiVersion and kind need not be said. Answers are the bytes of the
    object as it is now.
    """

    async def get(self, resource: Resource, name: str, namespace: str = "") -> bytes:
        """One object."""
        return await self.send(Request("GET", resource.path(namespace, name), repeatable=True))

    async def pages(
        self, resource: Resource, kind: type[T], *, namespace: str = "", labels: str = "", page_size: int = PAGE_SIZE
    ) -> AsyncGenerator[Page[T], None]:
        """All objects, or those of a namespace or a label selector, page by page, as of one version.

        ExpiredError when reading took longer than the server keeps the version: begin again.
        """
        decode = msgspec.json.Decoder(_List[kind]).decode  # type: ignore[valid-type]
        query = {"limit": str(page_size), **({"labelSelector": labels} if labels else {})}
        while True:
            body = await self.send(Request("GET", resource.path(namespace), query, repeatable=True))
            page, more = _page(body, kind, decode)
            yield page
            if not more:
                return
            query["continue"] = more

    async def create(
        self, resource: Resource, body: Mapping[str, Any], namespace: str = "", *, name: str = "", subresource: str = ""
    ) -> bytes:
        """Create the object, or POST to the `subresource` of the object called `name`; ConflictError if it exists."""
        path = resource.path(namespace, name, subresource)
        return await self.send(Request("POST", path, body=_encoded(resource, body)))

    async def replace(
        self, resource: Resource, name: str, body: Mapping[str, Any], namespace: str = "", *, subresource: str = ""
    ) -> bytes:
        """Write the whole object; with metadata.resourceVersion, ConflictError if it changed since."""
        path = resource.path(namespace, name, subresource)
        return await self.send(Request("PUT", path, body=_encoded(resource, body)))

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Patch,
        namespace: str = "",
        *,
        subresource: str = "",
        repeatable: bool = False,
        once: bool = False,
    ) -> bytes:
        """Change a part of the object; `repeatable` allows to send it again when an answer is lost.

        With `once` it is sent one time, whatever comes back: for what must be thought about before each attempt.
        """
        path = resource.path(namespace, name, subresource)
        request = Request("PATCH", path, patch.query, patch.body, patch.content_type, repeatable, once)
        return await self.send(request)

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, uid: str = "", grace_s: int | None = None
    ) -> bytes:
        """Delete the object, only if it still has `uid` where one is named; ConflictError otherwise."""
        options: dict[str, Any] = {"preconditions": {"uid": uid}} if uid else {}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        return await self.send(Request("DELETE", resource.path(namespace, name), body=msgspec.json.encode(options)))


def _encoded(resource: Resource, body: Mapping[str, Any]) -> bytes:
    """With the kind, which the server wants of custom resources; what the body says itself counts."""
    return msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, **body})


def _page(body: bytes, kind: type[T], decode: Any) -> tuple[Page[T], str]:
    """The page and where the next one begins; one broken object does not spoil the others."""
    try:
        found: _List[T] = decode(body)
        return Page(tuple(found.items or ()), found.metadata.resource_version), found.metadata.continue_
    except msgspec.ValidationError:
        raw = msgspec.json.decode(body, type=_List[msgspec.Raw])
    objects: list[T] = []
    broken: list[tuple[bytes, str]] = []
    for item in raw.items or ():
        try:
            objects.append(msgspec.json.decode(item, type=kind))
        except msgspec.ValidationError as error:
            broken.append((bytes(item), str(error)))
    return Page(tuple(objects), raw.metadata.resource_version, tuple(broken)), raw.metadata.continue_

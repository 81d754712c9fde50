"""`Follower`: everything there is of a resource, then every change, for as long as one asks.

It lists, watches, resumes after the last version when a watch ends, lists anew when
the server has forgotten it, and waits longer the more goes wrong. The planner's
keeper turns its steps into events of its own.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from numaplace.adapters.kube.backoff import Backoff
from numaplace.adapters.kube.client import PAGE_SIZE, Kube
from numaplace.adapters.kube.errors import BusyError, ExpiredError, KubeError
from numaplace.adapters.kube.objects import HasMetadata, Key, key_of, metadata_of
from numaplace.adapters.kube.resources import Resource
from numaplace.adapters.kube.watch import QUIET_S, Change, Event, watch
from numaplace.wire.pod_object import Metadata

T = TypeVar("T", bound=HasMetadata)

_SHORT_S = 1.0
_SHORT_STREAMS = 3  # some servers end watches at once instead of saying 410


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """The object is there, new or changed (or listed again unchanged)."""

    key: Key
    object: T


@dataclass(frozen=True, slots=True)
class Gone:
    """The object that had this UID is there no more."""

    key: Key
    uid: str


@dataclass(frozen=True, slots=True)
class Synced:
    """Everything that a list held was told; from here on it is changes."""

    version: str


@dataclass(frozen=True, slots=True)
class Broken:
    """An object is there that is not of the asked kind; what was known of it before is out of date."""

    key: Key
    problem: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something went wrong and is tried again; for logs and metrics."""

    error: KubeError


Step = Seen[T] | Gone | Synced | Broken | Trouble


@dataclass(slots=True)
class Follower(Generic[T]):
    """Follows one resource of the whole cluster; iterate `steps()` once."""

    kube: Kube
    resource: Resource
    kind: type[T]
    page_size: int = PAGE_SIZE
    quiet_s: float = QUIET_S
    lists: int = 0  # how often it listed, and how many watches it began
    watches: int = 0
    version: str = ""
    _known: dict[Key, str] = field(default_factory=dict)  # UIDs
    _backoff: Backoff = field(default_factory=Backoff)
    _short: int = 0

    async def steps(self) -> AsyncGenerator[list[Step[T]], None]:
        """Batches of steps, for ever; no KubeError ends it, each becomes a `Trouble`.

        Between two `Synced` an object that vanished unseen comes as `Gone`, and one
        that was replaced by another of its name as `Gone` of the old UID, then `Seen`.
        """
        while True:
            try:
                async with aclosing(self._changes() if self.version else self._list()) as batches:
                    async for batch in batches:
                        yield batch
                await self._rest()
            except ExpiredError as error:
                self.version = ""
                yield [Trouble(error)]
                await self._rest(error)
            except KubeError as error:
                yield [Trouble(error)]
                await self._rest(error)

    async def _list(self) -> AsyncGenerator[list[Step[T]], None]:
        """Everything there is, page by page, then what is gone since the last time."""
        self.lists += 1
        missing, version = dict(self._known), ""
        async for page in self.kube.pages(self.resource, self.kind, page_size=self.page_size):
            version = version or page.version
            steps: list[Step[T]] = []
            for thing in page.objects:
                missing.pop(key_of(thing.metadata), None)
                steps += self._seen(thing.metadata, thing)
            for body, problem in page.broken:
                metadata = metadata_of(body)
                missing.pop(key_of(metadata), None)
                steps += self._broken(metadata, problem)
            yield steps
            await asyncio.sleep(0)
        gone: list[Step[T]] = [self._gone(key) for key in missing]
        self.version = version
        yield [*gone, Synced(version)]

    async def _changes(self) -> AsyncGenerator[list[Step[T]], None]:
        """What changes after the last version, until the server ends the watch."""
        self.watches += 1
        clock = asyncio.get_running_loop().time
        began, moved = clock(), False
        stream = watch(self.kube, self.resource, self.kind, self.version, quiet_s=self.quiet_s)
        async with aclosing(stream) as batches:
            async for events in batches:
                steps: list[Step[T]] = []
                for event in events:
                    steps += self._steps_of(event)
                    self.version = event.metadata.resource_version or self.version
                moved, self._backoff = True, self._backoff.rested()
                if steps:
                    yield steps
        self._short = 0 if moved or clock() - began > _SHORT_S else self._short + 1
        if self._short >= _SHORT_STREAMS:
            self._short, self.version = 0, ""

    async def _rest(self, error: KubeError | None = None) -> None:
        """Wait after trouble and after watches that ended at once; not at all when all is well."""
        if error is None and not self._short:
            return
        self._backoff = self._backoff.failed()
        asked = error.retry_after_s if isinstance(error, BusyError) else None
        await self.kube.sleep(max(self._backoff.delay_s(self.kube.draw()), asked or 0.0))

    def _steps_of(self, event: Event[T]) -> list[Step[T]]:
        key = key_of(event.metadata)
        match event.change:
            case Change.BOOKMARK:
                return []
            case Change.DELETED:
                return [self._gone(key)] if key in self._known else []
            case _ if event.object is None:
                return self._broken(event.metadata, event.problem)
            case _:
                return self._seen(event.metadata, event.object)

    def _seen(self, metadata: Metadata, thing: T) -> list[Step[T]]:
        return [*self._replaced(metadata), Seen(key_of(metadata), thing)]

    def _broken(self, metadata: Metadata, problem: str) -> list[Step[T]]:
        return [*self._replaced(metadata), Broken(key_of(metadata), problem)]

    def _replaced(self, metadata: Metadata) -> list[Gone]:
        """The end of another object that had this name, if there was one."""
        key, uid = key_of(metadata), metadata.uid or ""
        before, self._known[key] = self._known.get(key, uid), uid
        return [Gone(key, before)] if before != uid else []

    def _gone(self, key: Key) -> Gone:
        return Gone(key, self._known.pop(key))

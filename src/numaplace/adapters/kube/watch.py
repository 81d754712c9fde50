"""One watch: events of a resource from a version on, in batches, until the server ends it.

`Follower` strings watches and lists together; whoever wants to know a resource for
long uses that.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

import aiohttp
import msgspec

from numaplace.adapters.kube.errors import AnswerLostError, KubeError, status_error
from numaplace.adapters.kube.inbox import Inbox, LineTooLongError
from numaplace.adapters.kube.objects import HasMetadata, metadata_of
from numaplace.adapters.kube.resources import Resource
from numaplace.adapters.kube.transport import Request, Transport
from numaplace.wire.pod_object import Metadata

T = TypeVar("T", bound=HasMetadata)

# Bookmarks come about every minute, so silence this long is a dead connection.
QUIET_S = 150.0


class Change(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"  # nothing: only the version moved on


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """One event; `object` is None for bookmarks, and for what is not of the asked kind, which `problem` says."""

    change: Change
    metadata: Metadata
    object: T | None = None
    problem: str = ""


class _Line(msgspec.Struct, Generic[T], gc=False):
    type: str
    object: T


class CleanEndError(Exception):
    """The server ended the stream as it does all the time; resume from the last version."""


async def watch(
    transport: Transport, resource: Resource, kind: type[T], since: str, *, quiet_s: float = QUIET_S
) -> AsyncGenerator[list[Event[T]], None]:
    """Batches of events after version `since`, of the whole resource, bookmarks included.

    Returns when the server ends the stream. ExpiredError when `since` is too old,
    as HTTP status or as an event inside a 200; other KubeErrors when the connection
    breaks or is quiet for `quiet_s`. What came before an error is delivered first.
    """
    # The server ends each watch after a while, at random so that not all of them return at once.
    limit = str(int(300 + 300 * transport.draw()))
    query = {"watch": "true", "resourceVersion": since, "allowWatchBookmarks": "true", "timeoutSeconds": limit}
    request = Request("GET", resource.path(), query)
    decode = msgspec.json.Decoder(_Line[kind]).decode  # type: ignore[valid-type]
    inbox = Inbox()
    async with transport.stream(request) as content:
        reader = asyncio.create_task(_read(content, inbox, str(request), quiet_s))
        try:
            while True:
                try:
                    lines = await inbox.lines()
                except CleanEndError:
                    return
                except LineTooLongError as too_long:
                    raise AnswerLostError(f"{request}: {too_long}") from too_long
                events: list[Event[T]]
                events, error = _events(lines, decode, str(request))
                if events:
                    yield events
                if error is not None:
                    raise error
        finally:
            reader.cancel()
            await asyncio.wait([reader])


async def _read(content: aiohttp.StreamReader, inbox: Inbox, asked: str, quiet_s: float) -> None:
    """Empty the socket into the inbox, whatever the decoder does."""
    try:
        while True:
            async with asyncio.timeout(quiet_s):
                chunk = await content.readany()
            if not chunk:
                break
            await inbox.put(chunk)
    except TimeoutError:
        inbox.end(AnswerLostError(f"{asked}: nothing came for {quiet_s:.0f} s"))
    except (aiohttp.ClientError, OSError) as error:
        inbox.end(AnswerLostError(f"{asked}: {str(error) or type(error).__name__}"))
    else:
        inbox.end(CleanEndError())


def _events(lines: list[bytes], decode: Any, asked: str) -> tuple[list[Event[T]], KubeError | None]:
    """The events of some lines, up to the one that is an error."""
    events: list[Event[T]] = []
    for line in lines:
        try:
            one: _Line[T] = decode(line)
            if one.type in ("ADDED", "MODIFIED", "DELETED"):
                events.append(Event(Change(one.type), one.object.metadata, one.object))
                continue
            problem = ""
        except msgspec.ValidationError as error:
            problem = str(error)
        except msgspec.DecodeError as error:
            return events, AnswerLostError(f"{asked}: a broken line ({error})")
        raw = msgspec.json.decode(line, type=_Line[msgspec.Raw])  # type: ignore[type-var]
        body = bytes(raw.object)
        if raw.type not in tuple(Change):
            return events, status_error(asked, 0, body)
        metadata = metadata_of(body)
        events.append(Event(Change(raw.type), metadata, problem="" if raw.type == Change.BOOKMARK else problem))
    return events, None

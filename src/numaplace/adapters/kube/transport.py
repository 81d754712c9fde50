"""One HTTP request to an API server, sent again where that is safe, and errors in our words.

`Kube` and `watch` build requests; here is the only place that knows the HTTP library.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import aiohttp

from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.backoff import Backoff
from numaplace.adapters.kube.credentials import Credential
from numaplace.adapters.kube.errors import (
    AnswerLostError,
    BusyError,
    KubeError,
    StatusError,
    UnreachableError,
    UntrustedError,
    status_error,
)

_CONNECT_S = 5.0
_CONTENT_LIMIT = 1 << 16  # bytes of a response that aiohttp holds before it stops reading the socket


@dataclass(frozen=True, slots=True)
class Request:
    """What to send; `repeatable` says that sending it twice does no harm."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    repeatable: bool = False
    once: bool = False  # the caller wants to have the first answer, whatever it is

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one call may take, all attempts together, and one attempt alone."""

    call_s: float = 30.0
    attempt_s: float = 15.0


class Transport:
    """A pool of connections to one server; use it as an async context manager."""

    def __init__(
        self,
        access: Access,
        *,
        patience: Patience = Patience(),
        connections: int = 64,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.access = access
        self.sleep, self.draw = sleep, draw
        self._patience, self._connections = patience, connections
        self._session: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = _session(self._connections)
        self._streams = _session(0)  # a watch keeps its connection, so watches must not use up the pool
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in (self._session, self._streams):
            if session is not None:
                await session.close()

    async def send(self, request: Request) -> bytes:
        """The body of a 2xx answer.

        Sent again with growing waits while patience lasts: when the server is too
        busy (429, nothing was done) or cannot be reached, any request; after 5xx and
        lost answers only a repeatable one. Otherwise raises a KubeError; for a write
        that is not repeatable AnswerLostError and BusyError with 5xx leave open
        whether it happened. The library itself repeats PUT and DELETE once when a kept
        connection turns out dead, so their answer may be the conflict with themselves.
        """
        loop, backoff = asyncio.get_running_loop(), Backoff()
        deadline = loop.time() + self._patience.call_s
        while True:
            try:
                return await self._attempt(request)
            except (BusyError, UnreachableError, AnswerLostError) as error:
                if request.once or not (request.repeatable or _surely_undone(error)):
                    raise
                backoff = backoff.failed()
                asked = error.retry_after_s if isinstance(error, BusyError) else None
                wait = max(backoff.delay_s(self.draw()), asked or 0.0)
                if loop.time() + wait > deadline:
                    raise
            await self.sleep(wait)

    async def _attempt(self, request: Request) -> bytes:
        """One attempt; a 401 is tried once more with a renewed credential."""
        for last in (False, True):
            try:
                async with self._exchange(self._session, request, self._patience.attempt_s) as response:
                    return await response.read()
            except StatusError as error:
                if error.code != 401 or last:
                    raise
        raise AssertionError("the second attempt returns or raises")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[aiohttp.StreamReader]:
        """The body of a 2xx answer as it comes; ends of the connection and errors are KubeErrors too.

        It must begin as soon as any answer; nothing here limits how long it may be quiet after that.
        """
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._patience.attempt_s):
                    response = await stack.enter_async_context(self._exchange(self._streams, request, None))
            except TimeoutError as error:
                raise AnswerLostError(f"{request}: no answer for {self._patience.attempt_s:g} s") from error
            stack.callback(_hang_up, response)
            yield response.content

    @asynccontextmanager
    async def _exchange(
        self, session: aiohttp.ClientSession | None, request: Request, read_s: float | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if session is None:
            raise AssertionError("a Transport is used inside `async with`")
        credential = await self.access.credentials.current()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=read_s)
        try:
            async with session.request(
                request.method,
                self.access.server + request.path,
                params=request.query,
                data=request.body,
                headers=_headers(request, credential),
                timeout=timeout,
                allow_redirects=False,
                ssl=self.access.tls(credential),
                server_hostname=self.access.server_name,
                proxy=self.access.proxy,
                read_bufsize=_CONTENT_LIMIT,
            ) as response:
                if response.status >= 300:
                    body, after = await response.read(), response.headers.get("Retry-After", "")
                    if response.status == 401:
                        self.access.credentials.refused(credential)
                    raise status_error(str(request), response.status, body, after)
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _translated(request, error) from error


def _session(connections: int) -> aiohttp.ClientSession:
    """A pool whose answers come uncompressed: in a cluster, deflating a page costs more than sending it."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections),
        headers={"User-Agent": "numaplace", "Accept": "application/json", "Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """End a stream from our side at once; a polite end of TLS would wait for an answer that a watch never gives."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def _headers(request: Request, credential: Credential) -> dict[str, str]:
    headers = {"Content-Type": request.content_type} if request.body is not None else {}
    if credential.token:
        headers["Authorization"] = f"Bearer {credential.token}"
    return headers


def _surely_undone(error: KubeError) -> bool:
    return isinstance(error, UnreachableError) or (isinstance(error, BusyError) and error.code == 429)


def _translated(request: Request, error: Exception) -> KubeError:
    words = str(error) or type(error).__name__
    match error:
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch():
            return UntrustedError(f"{request}: {words}")
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError() | aiohttp.InvalidURL():
            return UnreachableError(f"{request}: {words}")
        case _:
            return AnswerLostError(f"{request}: {words}")

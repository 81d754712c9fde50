"""Between a client and the real API server: lets everything through, but for the faults that are asked for.

The effects are those of the fake API server. TLS ends here, so the proxy shows its own
credentials to the API server; whoever comes through it is who the proxy is. A trap
holds one request, or one answer, for as long as something else goes wrong.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Self

import aiohttp
import msgspec
from aiohttp import web

from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.fake import Answer, DropRequest, Fault, LoseAnswer, Stall
from numaplace.adapters.kube.fake.faults import Effect
from tests.cluster.authority import Authority

_PASSED_ON = ("Content-Type", "Accept", "Accept-Encoding")
WATCH = "WATCH"  # the method of what a watch tells: its body is a piece of the stream


class Moment(StrEnum):
    """When a trap holds: a request before anything is done, or its answer when all is done."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(slots=True)
class Trap:
    """Holds the first that fits (method, path, body) until it is let go; `caught` is its path and body."""

    fits: Callable[[str, str, bytes], bool]
    moment: Moment
    skip: int = 0  # so many that fit pass before
    caught: tuple[str, bytes] | None = None
    sprung: asyncio.Event = field(default_factory=asyncio.Event)
    _open: asyncio.Event = field(default_factory=asyncio.Event)
    _effect: Effect | None = None

    def let_go(self, effect: Effect | None = None) -> None:
        """What is held goes on, or meets this effect; nothing is held any more."""
        if not self._open.is_set():
            self._effect = effect
            self._open.set()

    async def held(self, moment: Moment, method: str, path: str, body: bytes) -> Effect | None:
        """Come by, and stay if caught; the effect to meet."""
        if self._open.is_set() or self.caught or moment is not self.moment or not self.fits(method, path, body):
            return None
        if self.skip > 0:
            self.skip -= 1
            return None
        self.caught = path, body
        self.sprung.set()
        await self._open.wait()
        return self._effect


@dataclass(slots=True)
class FaultyProxy:
    """An API server with faults; use it as an async context manager. `asked` is what came, as method and path.

    Without an authority it listens without TLS, as a planner does for its scheduler.
    """

    behind: Access
    authority: Authority | None
    faults: list[Fault] = field(default_factory=list)
    trap: Trap | None = None
    asked: list[str] = field(default_factory=list)
    port: int = 0
    _watches: set[asyncio.Task[None]] = field(default_factory=set)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _session: aiohttp.ClientSession | None = None
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
        )
        app = web.Application(client_max_size=16 << 20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        context = None
        if self.authority is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*self.authority.server("faulty-proxy", "127.0.0.1"))
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self.cut_watches()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    def access(self) -> Access:
        """How to come through it."""
        if self.authority is None:
            return Access(f"http://127.0.0.1:{self.port}")
        return Access(f"https://127.0.0.1:{self.port}", authorities=self.authority.ca.cert_pem.bytes())

    def fail(self, effect: Effect, method: str = "", path: str = "", times: int = 1) -> None:
        """Let an effect strike the next `times` requests that fit."""
        self.faults.append(Fault(effect, method, path, times))

    def cut_watches(self) -> None:
        """End all watches that are open, as cleanly as the API server does when a reader is slow."""
        for watch in self._watches:
            watch.cancel()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path}")
        body = await request.read()
        fault = next((one for one in self.faults if one.strikes(request.method, request.path)), None)
        effect = fault.effect if fault else await self._held(Moment.BEFORE, request.method, request.path, body)
        if isinstance(effect, Stall):
            await self._closing.wait()
        if isinstance(effect, DropRequest | Stall):
            return _broken_off(request)
        if isinstance(effect, Answer):
            return _refusal(effect)
        try:
            return await self._passed_on(request, body, lose=isinstance(effect, LoseAnswer))
        except (aiohttp.ClientError, OSError):  # nobody answers behind us
            return _broken_off(request)

    async def _held(self, moment: Moment, method: str, path: str, body: bytes) -> Effect | None:
        return None if self.trap is None else await self.trap.held(moment, method, path, body)

    async def _passed_on(self, request: web.Request, asked: bytes, *, lose: bool) -> web.StreamResponse:
        credential = await self.behind.credentials.current()
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        if credential.token:
            headers["Authorization"] = f"Bearer {credential.token}"
        if self._session is None:
            raise AssertionError("a FaultyProxy is used inside `async with`")
        async with self._session.request(
            request.method,
            self.behind.server + request.raw_path,
            headers=headers,
            data=asked,
            ssl=self.behind.tls(credential),
            timeout=aiohttp.ClientTimeout(total=None),
        ) as answer:
            kept = {name: answer.headers[name] for name in ("Content-Type", "Retry-After") if name in answer.headers}
            if request.query.get("watch") == "true" and answer.status == 200:
                return await self._streamed(request, answer, kept)
            body = await answer.read()
            lose = lose or await self._held(Moment.AFTER, request.method, request.path, asked) is not None
            return _broken_off(request) if lose else web.Response(status=answer.status, body=body, headers=kept)

    async def _streamed(
        self, request: web.Request, answer: aiohttp.ClientResponse, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)

        async def copy() -> None:
            async for chunk in answer.content.iter_any():
                if await self._held(Moment.BEFORE, WATCH, request.path, chunk) is not None:
                    return  # it is lost, and the watch with it
                await response.write(chunk)

        watch = asyncio.create_task(copy())
        self._watches.add(watch)
        try:
            await asyncio.wait([watch])
        finally:
            watch.cancel()
            self._watches.discard(watch)
            _hang_up(answer)
        with contextlib.suppress(ConnectionError):
            await response.write_eof()
        return response


def _hang_up(answer: aiohttp.ClientResponse) -> None:
    """A polite end of TLS would wait for an answer that a watch never gives."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


def _refusal(effect: Answer) -> web.Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": effect.code}
    body = msgspec.json.encode({**status, "reason": effect.reason, "message": effect.message})
    headers = {} if effect.retry_after_s is None else {"Retry-After": str(effect.retry_after_s)}
    return web.Response(status=effect.code, body=body, content_type="application/json", headers=headers)


def _broken_off(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()

"""The HTTP face of the fake API server: paths and verbs to the store, watches, and the faults."""

import asyncio
import json
import ssl
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.credentials import Credential, Fixed
from numaplace.adapters.kube.fake.faults import Answer, DropRequest, Effect, Fault, HoldAnswer, LoseAnswer, Stall
from numaplace.adapters.kube.fake.refusals import RefusalError
from numaplace.adapters.kube.fake.routes import find_target
from numaplace.adapters.kube.fake.store import Store
from numaplace.adapters.kube.fake.verbs import Verbs
from numaplace.adapters.kube.fake.watching import Watches


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came, for tests that care how often or how we ask."""

    method: str
    path: str
    query: dict[str, str]
    content_type: str
    accepted_encoding: str


@dataclass(slots=True)
class FakeServer:
    """An API server on a loopback port; use it as an async context manager.

    `faults` strike in order, `tokens` are what it accepts (None: anyone), `asked` is
    all that was asked of it.
    """

    tls: ssl.SSLContext | None = None
    tokens: set[str] | None = None
    store: Store = field(default_factory=Store)
    faults: list[Fault] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    watches: Watches = field(init=False)
    _verbs: Verbs = field(init=False)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        self.watches, self._verbs = Watches(self.store), Verbs(self.store)
        app = web.Application(client_max_size=4 << 20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self.tls)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self.watches.cut(clean=False)
        if self._runner is not None:
            await self._runner.cleanup()

    def access(self, token: str = "") -> Access:
        """How to reach it; behind TLS the caller adds the authorities to trust."""
        scheme = "https" if self.tls else "http"
        return Access(f"{scheme}://127.0.0.1:{self.port}", Fixed(Credential(token)))

    def fail(self, effect: Effect, method: str = "", path: str = "", times: int = 1) -> None:
        """Let an effect strike the next `times` requests that fit."""
        self.faults.append(Fault(effect, method, path, times))

    def forget(self) -> None:
        """Every version before now is expired, also for watches that are cut afterwards, and for lists half read."""
        self.store.forget()
        self._verbs.forget()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        fault = next((one for one in self.faults if one.strikes(request.method, request.path)), None)
        effect = fault.effect if fault else None
        try:
            if isinstance(effect, Stall):
                await self._closing.wait()
            if isinstance(effect, DropRequest | Stall):
                return _broken_off(request)
            if isinstance(effect, Answer):
                details = {} if effect.retry_after_s is None else {"retryAfterSeconds": effect.retry_after_s}
                raise RefusalError(effect.code, effect.reason, effect.message, details)
            self._check_token(request)
            target = find_target(request.path)
            if request.method == "GET" and request.query.get("watch") == "true":
                return await self.watches.serve(request, target.resource)
            body = await _body(request)
            answer = self._verbs.answer(request.method, target, dict(request.query), request.content_type, body)
        except RefusalError as refusal:
            return _refused(refusal)
        if isinstance(effect, HoldAnswer):
            await self._held(effect)
        if isinstance(effect, LoseAnswer):
            return _broken_off(request)
        code = 201 if request.method == "POST" else 200
        return web.Response(status=code, body=json.dumps(answer).encode(), content_type="application/json")

    async def _held(self, effect: HoldAnswer) -> None:
        """Return when the answer may go, or the server ends."""
        waits = [asyncio.create_task(event.wait()) for event in (effect.until, self._closing)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for one in waits:
            one.cancel()

    def _note(self, request: web.Request) -> None:
        encoding = request.headers.get("Accept-Encoding", "")
        self.asked.append(Asked(request.method, request.path, dict(request.query), request.content_type, encoding))

    def _check_token(self, request: web.Request) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.tokens is not None and token not in self.tokens:
            raise RefusalError(401, "Unauthorized", "Unauthorized")


async def _body(request: web.Request) -> Any:
    text = await request.read()
    return json.loads(text) if text else {}


def _refused(refusal: RefusalError) -> web.Response:
    after = refusal.details.get("retryAfterSeconds")
    headers = {} if after is None else {"Retry-After": str(after)}
    body = json.dumps(refusal.status()).encode()
    return web.Response(status=refusal.code, body=body, content_type="application/json", headers=headers)


def _broken_off(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()

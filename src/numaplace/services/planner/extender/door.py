"""The extender face's HTTP: four POSTs, each answered in time and in one write; with 200, short of a defect of ours.

A planner that does not lead answers what needs no book, and passes the rest on to the
one that does.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter

import aiohttp
from aiohttp import web

from numaplace.model.errors import InputError
from numaplace.services.planner.extender.answers import Extender, NotLeadingError, NotNowError, broken
from numaplace.services.planner.extender.tls import Rotation, Seen, TlsFiles
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.listening import listening
from numaplace.services.planner.metrics import Metrics

_KEPT_S = 3600.0  # idle connections are the scheduler's to close (it does after 90 s), so that none breaks under it
_FORWARDED = "X-Numaplace-Forwarded"

Verb = Callable[[bytes], Awaitable[tuple[bytes, str]]]
Handler = Callable[[web.Request], Awaitable[web.Response]]


@dataclass(frozen=True, slots=True)
class DoorAddress:
    """Where kube-scheduler reaches the extender face; the planners of a cluster all use the same port."""

    host: str
    port: int
    tls: TlsFiles | None = None


class Door:
    """Listens for as long as `run` runs; `leader` is the host of the planner that leads, where it is known."""

    def __init__(
        self,
        extender: Extender,
        address: DoorAddress,
        limits: Limits,
        metrics: Metrics,
        leader: Callable[[], str | None],
    ) -> None:
        self._address, self._limits, self._metrics, self._leader = address, limits, metrics, leader
        self._verbs: dict[str, Verb] = {
            "filter": extender.filter,
            "prioritize": extender.prioritize,
            "bind": extender.bind,
            "preempt": extender.preempt,
        }
        self._session: aiohttp.ClientSession | None = None

    async def run(self) -> None:
        """Answer until cancelled."""
        app = web.Application(client_max_size=self._limits.extender_body_bytes)
        for name, verb in self._verbs.items():
            app.router.add_post(f"/v1/{name}", self._handler(name, verb))
        runner = web.AppRunner(app, access_log=None, keepalive_timeout=_KEPT_S, shutdown_timeout=1.0)
        await runner.setup()
        try:
            async with aiohttp.ClientSession() as self._session:
                with listening("--extender", self._address.host, self._address.port) as at:
                    await self._listen(runner, at)
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner, at: socket.socket) -> None:
        """Serve the socket; with new certificates by a second listener, before the first one goes."""
        tls = self._address.tls
        listener = await _listener(runner, at, None if tls is None else tls.serving())
        rotation = None if tls is None else Rotation(tls)
        try:
            while True:
                await asyncio.sleep(self._limits.tick_s)
                context = None if rotation is None else rotation.renewed()
                if context is not None:
                    before, listener = listener, await _listener(runner, at, context)
                    await before.stop()
        finally:
            await listener.stop()

    def _handler(self, name: str, verb: Verb) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            began_s = perf_counter()
            body, kind = await self._answer(request, name, verb)
            self._metrics.extender.labels(name).observe(perf_counter() - began_s)
            self._metrics.answers.labels(name, kind).inc()
            return web.Response(body=body, content_type="application/json")

        return handle

    async def _answer(self, request: web.Request, name: str, verb: Verb) -> tuple[bytes, str]:
        try:
            async with asyncio.timeout(self._limits.extender_deadline_s):
                body = await request.read()
                try:
                    return await verb(body)
                except NotLeadingError:
                    host = self._leader()
                    if host is None or _FORWARDED in request.headers:
                        raise
                    return await self._forwarded(host, name, body), "forwarded"
        except web.HTTPRequestEntityTooLarge:
            said, most = request.content_length, self._limits.extender_body_bytes
            wanted = f"at most {most}; nodeCacheCapable: true makes them small"
            return broken(InputError("the body", found=f"{said or 'too many'} bytes", wanted=wanted)), "broken"
        except InputError as error:
            return broken(error), "broken"
        except NotNowError as error:
            return broken(error), "not now"
        except TimeoutError:
            limit_s = self._limits.extender_deadline_s
            return broken(NotNowError(f"{name} was not answered within {limit_s:g} s")), "late"

    async def _forwarded(self, host: str, name: str, body: bytes) -> bytes:
        """The leader's answer."""
        if self._session is None:
            raise AssertionError("a Door answers while it runs")
        tls = self._address.tls
        scheme = "http" if tls is None else "https"
        url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{self._address.port}/v1/{name}"
        try:
            async with self._session.post(
                url, data=body, headers={_FORWARDED: "1"}, ssl=True if tls is None else _asking(tls, tls.seen())
            ) as response:
                if response.status == 200:
                    return await response.read()
                raise NotNowError(f"the planner that leads answers {response.status} at {url}")
        except (aiohttp.ClientError, OSError) as error:
            raise NotNowError(f"the planner that leads is out of reach at {url}: {error}") from error


@lru_cache(maxsize=1)
def _asking(files: TlsFiles, _: Seen) -> ssl.SSLContext:
    """One context for each version of the files: connections are kept by it, and used again."""
    return files.asking()


@dataclass(frozen=True, slots=True)
class _Listener:
    """One listener on the socket of the door, with one set of certificates."""

    site: web.SockSite
    socket: socket.socket

    async def stop(self) -> None:
        """Take no more connections, let in those that were taken, then close: asyncio loses what comes in between."""
        asyncio.get_running_loop().remove_reader(self.socket.fileno())
        for _ in range(3):
            await asyncio.sleep(0)
        await self.site.stop()


async def _listener(runner: web.AppRunner, at: socket.socket, context: ssl.SSLContext | None) -> _Listener:
    own = at.dup()
    site = web.SockSite(runner, own, ssl_context=context)
    await site.start()
    return _Listener(site, own)

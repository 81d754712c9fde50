"""Watches of the fake API server: history, then news, then whatever end they are given."""

import asyncio
import contextlib
import json
from dataclasses import dataclass, field

from aiohttp import web

from numaplace.adapters.kube.fake.refusals import RefusalError
from numaplace.adapters.kube.fake.store import Object, Store
from numaplace.adapters.kube.resources import PODS, Resource


@dataclass(slots=True)
class _Watch:
    """One open watch; `end` says how it shall end, once it shall."""

    resource: Resource
    seen: int
    end: str = ""  # clean or broken
    bookmark: bool = False


@dataclass(slots=True)
class Watches:
    """All open watches."""

    store: Store
    open: list[_Watch] = field(default_factory=list)

    def cut(self, *, clean: bool) -> None:
        """End all watches that are open: by a clean end of the stream, or by breaking the connection."""
        for watch in self.open:
            watch.end = "clean" if clean else "broken"
        self.store.wake()

    def bookmark(self) -> None:
        """Tell the version of now to all who watch, as the real one does about every minute."""
        for watch in self.open:
            watch.bookmark = True
        self.store.wake()

    async def serve(self, request: web.Request, resource: Resource) -> web.StreamResponse:
        """Stream until the end; an expired version is an ERROR event inside a 200, as it really is."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        watch = _Watch(resource, int(request.query.get("resourceVersion") or self.store.version))
        self.open.append(watch)
        try:
            async with asyncio.timeout(int(request.query.get("timeoutSeconds") or 1800)):
                await self._stream(response, watch)
        except TimeoutError:
            await self._tell(response, "BOOKMARK", self._position(watch))
        except RefusalError as refusal:
            await self._tell(response, "ERROR", refusal.status())
        except ConnectionError:
            pass
        finally:
            self.open.remove(watch)
        if watch.end == "broken" and request.transport is not None:
            request.transport.abort()
        with contextlib.suppress(ConnectionError):
            await response.write_eof()
        return response

    async def _stream(self, response: web.StreamResponse, watch: _Watch) -> None:
        while not watch.end:
            for one in self.store.since(watch.resource, watch.seen):
                await self._tell(response, one.change, one.object)
                watch.seen = one.version
            if watch.bookmark:
                watch.bookmark = False
                await self._tell(response, "BOOKMARK", self._position(watch))
            if not self.store.since(watch.resource, watch.seen) and not watch.end:
                await self.store.news()

    def _position(self, watch: _Watch) -> Object:
        """An object that says a version and nothing else; a Pod's has null where a list belongs."""
        watch.seen = self.store.version
        resource = watch.resource
        bare: Object = {"kind": resource.kind, "apiVersion": resource.api_version}
        bare["metadata"] = {"resourceVersion": str(watch.seen), "creationTimestamp": None}
        return {**bare, "spec": {"containers": None}, "status": {}} if resource == PODS else bare

    async def _tell(self, response: web.StreamResponse, what: str, thing: Object) -> None:
        await response.write(json.dumps({"type": what, "object": thing}).encode() + b"\n")

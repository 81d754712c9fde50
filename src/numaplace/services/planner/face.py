"""What the planner shows over HTTP: alive, ready, metrics, and who holds what."""

from collections.abc import Callable
from typing import TypeAlias

from aiohttp import web

from numaplace.model.cluster import Holder, NodeState
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.metrics import Metrics
from numaplace.services.planner.planner import Planner

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | None"


class Face:
    """The pages; `planner` is None while another one leads, `missing` names what has not been listed yet."""

    def __init__(
        self,
        keeper: Keeper,
        planner: Callable[[], Planner | None],
        metrics: Metrics,
        missing: Callable[[], tuple[str, ...]],
    ) -> None:
        self._keeper, self._planner, self._metrics, self._missing = keeper, planner, metrics, missing

    async def serve(self, host: str, port: int) -> web.AppRunner:
        """Listen; `cleanup` of the answer ends it."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._counted)
        app.router.add_get("/state", self._state)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        return runner

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        if missing := self._missing():
            return web.Response(status=503, text=f"not listed yet: {', '.join(missing)}\n")
        return web.Response(text="ok\n")

    async def _counted(self, _: web.Request) -> web.Response:
        self._metrics.nodes.set(len(self._keeper.state.nodes))
        return web.Response(body=self._metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _state(self, _: web.Request) -> web.Response:
        planner = self._planner()
        if planner is None:
            return web.Response(status=503, text="this planner does not lead\n")
        nodes = self._keeper.state.nodes
        waiting: list[Json] = [_waiting_json(one, refusal) for one, refusal in planner.waiting.refusals()]
        return web.json_response({"nodes": {name: node_json(node) for name, node in nodes.items()}, "waiting": waiting})


def node_json(node: NodeState) -> Json:
    """One node: how much is known of it, and who holds what there."""
    report = "none" if node.topology is None else "stale" if node.stale else "fresh"
    return {"report": report, "holders": [_holder_json(one) for _, one in sorted(node.holders.items())]}


def _waiting_json(request: PodRequest, refusal: Refusal | None) -> Json:
    said: Json = None if refusal is None else {"code": refusal.code, "sentence": refusal.sentence}
    return {"pod": request.full_name, "uid": request.uid, "refusal": said}


def _holder_json(holder: Holder) -> Json:
    allocation = holder.allocation
    what: dict[str, Json] = {"pod": holder.request.full_name, "uid": holder.request.uid, "phase": holder.phase}
    if allocation is not None:
        what["numas"] = list(allocation.numas)
        what["cpus"] = str(allocation.cpus)
        what["gpus"] = [gpu.pci for gpu in allocation.gpus]
        what["hcas"] = [hca.name for hca in allocation.hcas]
    return what

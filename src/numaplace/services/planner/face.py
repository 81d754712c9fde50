"""What the planner shows over HTTP: alive, ready, metrics, who holds what, and why one Pod is where it is."""

from collections.abc import Callable
from typing import TypeAlias

from aiohttp import web

from numaplace.model.cluster import Holder, NodeState
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.listening import listening
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
        """Listen; `cleanup` of the answer ends it. InputError when the address is not ours or not free."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._counted)
        app.router.add_get("/state", self._state)
        app.router.add_get("/explain", self._explain)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, listening("--listen", host, port)).start()
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

    async def _explain(self, request: web.Request) -> web.Response:
        planner, name = self._planner(), request.query.get("pod", "")
        if planner is None:
            return web.Response(status=503, text="this planner does not lead\n")
        pod = next((one for one in self._keeper.pods.values() if one.full_name == name), None)
        if pod is None:
            return web.Response(status=404, text=f"?pod={name[:400]}: found no such Pod; expected NAMESPACE/NAME\n")
        return web.json_response(pod_json(pod, self._keeper.holder(pod.uid), planner.why(pod)))


def pod_json(pod: LivePod, holder: Holder | None, refusal: Refusal | None) -> Json:
    """One Pod: how far it is, what it has or is promised, and why it has nothing."""
    return {
        "pod": pod.full_name,
        "uid": pod.uid,
        "stage": pod.stage,
        "node": pod.node or (None if holder is None or holder.allocation is None else holder.allocation.node),
        "holds": None if holder is None else _holder_json(holder),
        "refusal": _refusal_json(refusal),
    }


def node_json(node: NodeState) -> Json:
    """One node: how much is known of it, and who holds what there."""
    report = "none" if node.topology is None else "stale" if node.stale else "fresh"
    return {"report": report, "holders": [_holder_json(one) for _, one in sorted(node.holders.items())]}


def _waiting_json(request: PodRequest, refusal: Refusal | None) -> Json:
    return {"pod": request.full_name, "uid": request.uid, "refusal": _refusal_json(refusal)}


def _refusal_json(refusal: Refusal | None) -> Json:
    return None if refusal is None else {"code": refusal.code, "sentence": refusal.sentence}


def _holder_json(holder: Holder) -> Json:
    allocation = holder.allocation
    what: dict[str, Json] = {"pod": holder.request.full_name, "uid": holder.request.uid, "phase": holder.phase}
    if allocation is not None:
        what["numas"] = list(allocation.numas)
        what["cpus"] = str(allocation.cpus)
        what["gpus"] = [gpu.pci for gpu in allocation.gpus]
        what["hcas"] = [hca.name for hca in allocation.hcas]
    return what

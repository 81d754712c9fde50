"""A large cluster written down, and read again: how much memory the commands take.

The API server is a process of its own that answers lists and nothing else; its objects
are as large as those of real clusters, with managed fields and container statuses.
"""

import asyncio
import json
import multiprocessing
import os
import time
from collections.abc import Mapping
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import NAMESPACE_URL, uuid5

import msgspec
from aiohttp import web

from bench.cluster.fleet import MODELS, booked, mixed_fleet
from bench.workload import pod
from numaplace.adapters.kube.resources import NAMESPACES, NODES, PODS, REPORTS
from numaplace.model import keys
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.request import Policy
from numaplace.wire import allocation as allocation_wire
from tests.cluster.nodes import node_object, report_object

_PROGRAM = "numaplace"
_PLACED = {"cpuset-scheduler": "required", keys.POLICY: "SingleNUMANode"}
_AMOUNTS = {"cpu": "12", "memory": "48Gi", "aliyun.com/gpu": "1"}


def study(nodes: int = 5_000, each: int = 4) -> None:
    """Capture the cluster, then look at the file."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=_serve, args=(theirs, nodes, each), daemon=True)
    server.start()
    config = {
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{ours.recv()}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    }
    with TemporaryDirectory() as folder:
        kubeconfig, plain, packed = (str(Path(folder) / name) for name in ("config", "all.json", "all.json.gz"))
        Path(kubeconfig).write_text(json.dumps(config))
        print(f"  {nodes:,} nodes, {nodes * each:,} Pods")
        for target in (plain, packed):
            _measure("capture", "cluster", "-o", target, "--kubeconfig", kubeconfig)
            print(f"    {Path(target).name}: {Path(target).stat().st_size / 1e6:.1f} MB")
        _measure("capture", "cluster", "--anonymise", "-o", packed, "--kubeconfig", kubeconfig)
        _measure("status", "--capture", plain, "--waiting")
        _measure("simulate", "--nodes", plain, "--pods", plain, "-o", "json")
    server.terminate()
    server.join()


def _measure(*arguments: str) -> None:
    """Run a command, and say what it took."""
    began_s = time.monotonic()
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execlp(_PROGRAM, _PROGRAM, *arguments)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)}: ended with {os.waitstatus_to_exitcode(status)}")
    said = " ".join(one for one in arguments if not one.startswith("/"))
    at_most, cpu_s = used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
    print(f"    {said:50} {at_most:6.0f} MiB at most, {cpu_s:5.1f} s of CPU, {time.monotonic() - began_s:5.1f} s")


# --- the API server


def _serve(tell: Connection, nodes: int, each: int) -> None:
    asyncio.run(_answer(tell, _objects(nodes, each)))


async def _answer(tell: Connection, items: Mapping[str, list[bytes]]) -> None:
    """Serve pages of lists, and tell the port, until the process is ended."""

    async def page(request: web.Request) -> web.Response:
        all_of = items.get(request.path, [])
        start, limit = int(request.query.get("continue") or 0), int(request.query.get("limit") or len(all_of))
        more = str(start + limit) if start + limit < len(all_of) else ""
        head = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"%s"},"items":[%s]}'
        body = head % (more.encode(), b",".join(all_of[start : start + limit]))
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/{path:.*}", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    tell.send(runner.addresses[0][1])
    await asyncio.Event().wait()


def _objects(nodes: int, each: int) -> Mapping[str, list[bytes]]:
    """By path of the list, every object as the API server would send it."""
    found: dict[str, list[bytes]] = {one.path(): [] for one in (NODES, REPORTS, PODS, NAMESPACES)}
    found[NAMESPACES.path()].append(b'{"metadata":{"name":"ml"}}')
    for node in mixed_fleet(nodes):
        found[NODES.path()].append(_sent(node_object(node)))
        found[REPORTS.path()].append(_sent(report_object(node, "u")))
        for number in range(each):
            found[PODS.path()].append(_sent(_pod(node, number, each)))
    return found


def _sent(thing: Mapping[str, object]) -> bytes:
    """With what the API server puts to every object."""
    fields = {f"f:{number}": dict.fromkeys((".", "f:requests", "f:limits"), 0) for number in range(40)}
    managed = [{"manager": one, "operation": "Update", "fieldsV1": fields} for one in ("a", "b")]
    meta = msgspec.convert(thing["metadata"], dict[str, object])
    meta |= {"uid": str(uuid5(NAMESPACE_URL, str(meta["name"]))), "creationTimestamp": "2026-01-01T00:00:00Z"}
    return msgspec.json.encode({**thing, "metadata": {**meta, "managedFields": managed}})


def _pod(node: NodeState, number: int, each: int) -> Mapping[str, object]:
    name = f"{node.name}-{number}"
    env = [{"name": f"NAME_{one}", "value": f"value-{one}" * 4} for one in range(20)]
    resources = {"limits": _AMOUNTS, "requests": _AMOUNTS}
    main = {"name": "main", "image": "registry/app:1", "env": env, "resources": resources}
    statuses = [{"name": "main", "image": "registry/app:1", "imageID": "sha256:" + "0" * 64, "ready": True}]
    return {
        "metadata": {
            "name": name,
            "namespace": "ml",
            "labels": {"app": "train", "team": "blue"},
            "annotations": {**_PLACED, keys.ALLOCATION: _allocation(node, number, each)},
        },
        "spec": {"nodeName": node.name, "containers": [main]},
        "status": {"phase": "Running", "containerStatuses": statuses},
    }


def _allocation(node: NodeState, number: int, each: int) -> str:
    """That of the first node of the model, with this node's name and cards."""
    first, texts = _of_model(node.name.partition("-")[0], each)
    text = texts[number].replace(first.name, node.name)
    if first.topology is not None and node.topology is not None:
        for theirs, ours in zip(first.topology.gpus, node.topology.gpus, strict=True):
            text = text.replace(str(theirs.uuid), str(ours.uuid))
    return text


@cache
def _of_model(model: str, each: int) -> tuple[NodeState, list[str]]:
    node = next(one for one in mixed_fleet(len(MODELS)) if one.name.startswith(model))
    holders = [Holder(pod(one, 1, 12, Policy.SINGLE_NUMA_NODE)) for one in range(each)]
    return node, [allocation_wire.encode(one.allocation) for one in booked(node, holders)]

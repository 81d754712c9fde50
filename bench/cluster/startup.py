"""A planner that starts in a full cluster: how long until it is ready, and how large it is then."""

import time
from dataclasses import dataclass

from bench.cluster.field import PLACEMENT, SPACE, Field, at_once
from bench.cluster.fleet import booked
from bench.cluster.planner import Planner
from bench.cluster.processes import cpu_s, memory_mib
from bench.workload import pod
from numaplace.adapters.kube.resources import PODS
from numaplace.model import keys
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.request import Policy
from numaplace.wire import allocation as allocation_wire


@dataclass(frozen=True, slots=True)
class Startup:
    """How it went."""

    ready_s: float
    cpu_s: float
    memory_mib: float  # resident when it is ready
    most_mib: float  # the most it ever was


async def fill(field: Field, nodes: list[NodeState], each: int) -> int:
    """Bind Pods of 12 CPUs and one GPU to every node as a planner before us would have; how many there are.

    Before the chart is installed, whose policies let nobody but the planner write allocations.
    """
    wanted: dict[str, Allocation] = {}
    for number, node in enumerate(nodes):
        requests = (pod(each * number + one, 1, 12, Policy.SINGLE_NUMA_NODE) for one in range(each))
        holders = [Holder(request) for request in requests]
        for holder, placement in zip(holders, booked(node, holders), strict=True):
            wanted[holder.request.name] = placement.allocation
    amounts = {"cpu": "12", "memory": "48Gi", "aliyun.com/gpu": "1"}
    main = {"name": "main", "image": "none", "resources": {"limits": amounts, "requests": amounts}}

    async def create(name: str) -> None:
        written = {**PLACEMENT, keys.ALLOCATION: allocation_wire.encode(wanted[name])}
        spec = {"containers": [main], "nodeName": wanted[name].node}
        await field.admin.create(PODS, {"metadata": {"name": name, "annotations": written}, "spec": spec}, SPACE)

    await at_once(wanted, create)
    return len(wanted)


async def startup(field: Field) -> Startup:
    """Start it once."""
    began_s = time.monotonic()
    with Planner(field.plane) as planner:
        await planner.until_ready()
        ready_s = time.monotonic() - began_s
        pid = planner.running.pid
        found = Startup(ready_s, cpu_s(pid), memory_mib(pid), memory_mib(pid, "VmHWM"))
        planner.end()
    return found

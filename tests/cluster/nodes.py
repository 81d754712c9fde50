"""Nodes that are only objects: what a kubelet and our agent would tell of described machines."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from numaplace.adapters.kube import Kube
from numaplace.adapters.kube.resources import NODES, REPORTS
from numaplace.model import keys
from numaplace.model.cluster import NodeState
from numaplace.model.settings import Settings
from numaplace.model.topology import Numa, Topology
from numaplace.tools.sim.cluster import SHARED_HCA_UNITS, nodes_of
from numaplace.wire import topology as topology_wire
from numaplace.wire.node_groups import decode_groups

AT_ONCE = 32


def described(text: str, settings: Settings = Settings()) -> list[NodeState]:
    """The nodes of a nodes file, empty."""
    return [node for group in decode_groups(text, "nodes") for node in nodes_of(group, settings)]


def alike(count: int, machine: str = "lingjun", settings: Settings = Settings()) -> list[NodeState]:
    """`count` enabled nodes of one described machine."""
    labels = {settings.enable_label: settings.enable_value}
    group = {"name": "node-####", "count": count, "machine": machine, "labels": labels}
    return described(msgspec.json.encode({"nodes": [group]}).decode(), settings)


async def create_nodes(admin: Kube, nodes: Iterable[NodeState], settings: Settings = Settings()) -> None:
    """Create a Node and its report for each, many at once."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def create(node: NodeState) -> None:
        async with turn:
            made = msgspec.json.decode(await admin.create(NODES, node_object(node)))
            await admin.create(REPORTS, report_object(node, made["metadata"]["uid"], settings))

    async with asyncio.TaskGroup() as group:
        for node in nodes:
            group.create_task(create(node))


def node_object(node: NodeState) -> dict[str, Any]:
    """A Node as its kubelet would have it; a new Node may bring its status along."""
    rules, offered = node.rules, node.rules.allocatable
    if offered is None:
        raise ValueError(f"{node.name}: found no allocatable amounts; expected what a described machine offers")
    amounts = {
        "cpu": f"{offered.cpu_milli}m",
        "memory": str(offered.memory_bytes),
        "pods": str(rules.max_pods),
        **{name: str(amount) for name, amount in offered.others.items()},
    }
    taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in rules.taints]
    metadata = {"name": node.name, "labels": dict(rules.labels)}
    return _node(metadata, {"unschedulable": rules.cordoned, "taints": taints}, amounts)


def plain_node(name: str) -> dict[str, Any]:
    """A Node without report and label, for Pods that are not ours to place."""
    return _node({"name": name}, {}, {"cpu": "32", "memory": "64Gi", "pods": "110"})


def _node(metadata: Mapping[str, Any], spec: Mapping[str, Any], amounts: Mapping[str, str]) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


def report_object(node: NodeState, uid: str, settings: Settings = Settings()) -> dict[str, Any]:
    """The report of the node's agent, with nothing in use."""
    topology = node.topology
    if topology is None:
        raise ValueError(f"{node.name}: found no topology; expected a described machine")
    document = topology_wire.encode(topology).decode()
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": uid}
    return {
        "metadata": {"name": node.name, "ownerReferences": [owner]},
        "attributes": [
            {"name": keys.TOPOLOGY, "value": document},
            {"name": keys.RESERVED, "value": str(node.reserved)},
            {"name": keys.IN_USE, "value": "{}"},
        ],
        "zones": [_zone(numa, topology, settings) for numa in topology.numas],
    }


def _zone(numa: Numa, topology: Topology, settings: Settings) -> dict[str, Any]:
    return {
        "name": f"node-{numa.id}",
        "type": "Node",
        "costs": [{"name": f"node-{other}", "value": cost} for other, cost in sorted(numa.distances.items())],
        "resources": [
            {"name": name, "capacity": str(amount), "allocatable": str(amount), "available": str(amount)}
            for name, amount in _amounts(numa, topology, settings).items()
            if amount
        ],
    }


def _amounts(numa: Numa, topology: Topology, settings: Settings) -> Mapping[str, int]:
    gpus = sum(1 for gpu in topology.gpus if gpu.numa == numa.id and not gpu.mig and not gpu.fault)
    hcas = sum(1 for hca in topology.hcas if hca.numa == numa.id and not hca.fault)
    pages = {f"hugepages-{_size(pool.page_bytes)}": pool.page_bytes * pool.total for pool in numa.hugepages}
    return {
        "cpu": len(numa.cpus),
        "memory": (numa.memory_bytes or 0) - sum(pages.values()),
        **pages,
        settings.gpu_resource: gpus,
        settings.hca_resource: hcas if settings.hcas_exclusive else SHARED_HCA_UNITS if hcas else 0,
    }


def _size(page_bytes: int) -> str:
    """A page size as resource names have it: 64Ki, 2Mi, 1Gi."""
    unit, shift = next((unit, shift) for unit, shift in (("Gi", 30), ("Mi", 20), ("Ki", 10)) if page_bytes >> shift)
    return f"{page_bytes >> shift}{unit}"

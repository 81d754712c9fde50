"""From a row to nodes, books and a Pod, and from our verbs' answers to the few facts that a row states.

The Pod goes the whole way: manifest, `wire.pod`, `decide.admit`, `decide.place`; what
others hold enters the book as events through `decide.track`, and so does the answer.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec

from numaplace.decide.admit import check
from numaplace.decide.place import Placement, place_on
from numaplace.decide.place.room import room_of
from numaplace.decide.track import (
    Event,
    NodeSeen,
    PodBound,
    PodGranted,
    PodHeld,
    PodReleased,
    ReportArrived,
    reduce,
    violations,
)
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest, Policy
from numaplace.model.rules import NodeRules
from numaplace.model.settings import Settings
from numaplace.model.topology import Topology
from numaplace.wire.machine import machine
from numaplace.wire.pod import decode
from tests.cases.koordinator.table import Case, HeldFields, NodeFields, PodFields
from tests.oracle.pods import floating, holder

LONE = "node-a"
RESOURCES = {"cpu": "cpu", "memory": "memory", "gpu": "aliyun.com/gpu", "hca": "rdma/hca"}
RESOURCES |= {"hugepages": "hugepages-1Gi"}
ANNOTATIONS = {"policy": "policy", "exclusive": "exclusive", "cpus": "cpus", "cpu_rule": "cpu-rule"}
ANNOTATIONS |= {"gpu_hca": "gpu-hca", "memory_mode": "memory"}


def observe(case: Case, machines: Mapping[str, str], policy: str | None) -> dict[str, Any]:
    """Every fact about our answer to `case`, by the names that answers use."""
    settings = Settings(hcas_exclusive=case.hcas_exclusive)
    state = ClusterState()
    for name, node in (case.nodes or {LONE: case}).items():
        state = _with_node(state, NodeName(name), node, machines)
    for number, pod in enumerate(case.before):
        state = _with_placed(state, pod, f"before-{number}", settings)
    if case.pod is None:
        return _facts_of_node(state)
    pod = case.pod if policy is None else msgspec.structs.replace(case.pod, policy=policy)
    return _facts_of_node(state) | _answered(state, _admitted(pod, "new", settings), settings)


def _answered(state: ClusterState, request: PodRequest | Refusal, settings: Settings) -> dict[str, Any]:
    if isinstance(request, Refusal):
        return {"refused": str(request.code)}
    facts = _facts_of_request(request)
    answers = {name: place_on(node, request, settings) for name, node in state.nodes.items()}
    if len(answers) > 1:
        return facts | {"ranks": _ranks(answers)}
    (answer,) = answers.values()
    if isinstance(answer, Refusal):
        return facts | {"refused": str(answer.code)}
    after = _held(state, request, answer.allocation)
    topology = after.nodes[answer.allocation.node].topology
    assert topology is not None
    return facts | _facts_of_allocation(topology, answer.allocation)


def _admitted(pod: PodFields, name: str, settings: Settings) -> PodRequest | Refusal:
    return check(decode(_manifest(pod, name), name), settings)


def _manifest(pod: PodFields, name: str) -> dict[str, Any]:
    """The Pod as a person would write it; policy None is no annotation."""
    limits = {resource: getattr(pod, field) for field, resource in RESOURCES.items()}
    own = {f"numaplace.dev/{key}": getattr(pod, field) for field, key in ANNOTATIONS.items()}
    own = {key: value for key, value in own.items() if value != str(Policy.NONE)}
    return {
        "metadata": {"name": name, "annotations": _told(own) | pod.annotations},
        "spec": {
            "hostNetwork": pod.hca is not None,
            "containers": [{"name": "main", "resources": {"limits": _told(limits) | pod.limits}}],
        },
    }


def _told(fields: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items() if value is not None}


def _with_node(state: ClusterState, name: NodeName, node: NodeFields, machines: Mapping[str, str]) -> ClusterState:
    state = _reduced(state, NodeSeen(name, NodeRules()))
    if node.machine is None:
        return state
    topology = machine(machines[node.machine])
    state = _reduced(state, ReportArrived(name, topology, CpuSet.parse(node.reserved)))
    for number, held in enumerate(node.held):
        state = _reduced(state, _taking(name, held.name or f"held-{number}", held, topology))
    for uid in node.released:
        state = _reduced(state, PodReleased(PodUid(uid), name))
    return state


def _taking(name: NodeName, uid: str, held: HeldFields, topology: Topology) -> Event:
    """The event that puts one Pod into the book; its numas are those of what it holds."""
    if held.floating:
        return PodBound(floating(uid, milli=1000 * held.floating).request, name)
    gpus, hcas = [topology.gpus[g] for g in held.gpus], [topology.hcas[h] for h in held.hcas]
    homes = {*(gpu.numa for gpu in gpus), *(hca.numa for hca in hcas)}
    own = CpuSet.parse(held.cpus)
    charged = {*held.shared, *held.memory_gib, *held.pages}
    numas = [
        numa.id for numa in topology.numas if numa.id in homes or numa.id in charged or not numa.cpus.isdisjoint(own)
    ]
    one = holder(
        uid,
        numas,
        cpus=held.cpus,
        gpus=[gpu.pci for gpu in gpus],
        hcas=[hca.name for hca in hcas],
        policy=Policy.BEST_EFFORT if charged else Policy.NONE,
        milli={numa: 1000 * cpus for numa, cpus in held.shared.items()},
        memory_gib=held.memory_gib,
        pages=held.pages,
    )
    assert one.allocation is not None
    allocation = replace(one.allocation, node=name)
    return PodHeld(one.request, allocation) if held.held else PodGranted(one.request, allocation)


def _with_placed(state: ClusterState, pod: PodFields, name: str, settings: Settings) -> ClusterState:
    request, (node,) = _admitted(pod, name, settings), state.nodes.values()
    assert isinstance(request, PodRequest), request
    answer = place_on(node, request, settings)
    assert isinstance(answer, Placement), answer
    return _held(state, request, answer.allocation)


def _held(state: ClusterState, request: PodRequest, allocation: Allocation) -> ClusterState:
    """The state that holds what was placed; its book must be right."""
    after = _reduced(state, PodHeld(request, allocation))
    assert violations(after.nodes[allocation.node]) == []
    return after


def _reduced(state: ClusterState, event: Event) -> ClusterState:
    after = reduce(state, event)
    assert isinstance(after, ClusterState), after
    return after


def _facts_of_request(request: PodRequest) -> dict[str, Any]:
    asks = {
        "policy": str(request.policy),
        "exclusive": str(request.exclusivity),
        "cpu-mode": str(request.cpu_mode),
        "cpu-rule": str(request.cpu_rule),
        "cpus": request.cpus,
    }
    return {"planned": request.is_planned, "asks": asks}


def _facts_of_allocation(topology: Topology, allocation: Allocation) -> dict[str, Any]:
    gpus, hcas = {gpu.pci for gpu in allocation.gpus}, {hca.name for hca in allocation.hcas}
    return {
        "placed": True,
        "numas": list(allocation.numas),
        "cpus": str(allocation.cpus),
        "at": {numa.id: count for numa in topology.numas if (count := len(numa.cpus & allocation.cpus))},
        "shared": {one.numa: one.shared_cpu_milli / 1000 for one in allocation.charges if one.shared_cpu_milli},
        "gpus": [i for i, gpu in enumerate(topology.gpus) if gpu.pci in gpus],
        "hcas": [i for i, hca in enumerate(topology.hcas) if hca.name in hcas],
    }


def _facts_of_node(state: ClusterState) -> dict[str, Any]:
    """Of a lone node that has reported: the CPUs that each NUMA node can give, and its marks."""
    first, *others = state.nodes.values()
    if others or first.topology is None:
        return {}
    room = room_of(first)
    free = dict(zip(room.layout.numas, room.gives, strict=True))
    marks = [_marks(room.single >> unit & 1, room.wide >> unit & 1) for unit in range(len(room.layout.units))]
    return {"free": [free.get(numa.id, 0) for numa in first.topology.numas], "marks": marks}


def _marks(single: int, wide: int) -> str:
    return "+".join(name for name, there in (("single", single), ("wide", wide)) if there) or "idle"


def _ranks(answers: Mapping[NodeName, Placement | Refusal]) -> str:
    """The nodes from best to worst: `a > b = c`."""
    placed = sorted((answer.rank, name) for name, answer in answers.items() if isinstance(answer, Placement))
    text = placed[0][1] if placed else ""
    for (rank, _), (next_rank, name) in pairwise(placed):
        text += f" {'=' if rank == next_rank else '>'} {name}"
    return text

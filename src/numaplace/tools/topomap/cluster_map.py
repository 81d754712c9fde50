"""A cluster as compact JSON for the drawing script: each machine once, each node as what its Pods hold.

The browser draws from it only the nodes that are looked at, so a page of a thousand
nodes stays small and opens at once.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from numaplace.model.allocation import Allocation
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NodeName
from numaplace.model.layout import UNKNOWN, Layout
from numaplace.model.topology import Topology

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class MapPod:
    """What one Pod holds on a node."""

    name: str
    allocation: Allocation | None  # None: nobody knows which CPUs and cards
    cards: int = 0  # GPUs it holds, where there is no allocation


@dataclass(frozen=True, slots=True)
class MapNode:
    """One node of the map."""

    name: NodeName
    remark: str  # "cordoned", "not enabled", ...; empty where there is nothing to remark
    topology: Topology | None
    layout: Layout | None
    pods: tuple[MapPod, ...]


def map_json(nodes: Iterable[MapNode]) -> Json:
    """`{"machines": […], "nodes": […]}`; see `page.js` for the fields."""
    machines: list[Json] = []
    known: dict[Hashable, int] = {}
    drawn: list[Json] = []
    for node in nodes:
        if node.topology is None or node.layout is None:
            drawn.append({"n": node.name, "r": node.remark, "m": None, "p": [_floating(pod) for pod in node.pods]})
            continue
        key = (id(node.topology), id(node.layout))
        if key not in known:
            known[key] = len(machines)
            machines.append(machine_json(node.topology, node.layout))
        places = _Places.of(node.topology)
        pods = [places.pod(pod) for pod in node.pods]
        drawn.append({"n": node.name, "r": node.remark, "m": known[key], "p": pods})
    return {"machines": machines, "nodes": drawn}


def machine_json(topology: Topology, layout: Layout) -> Json:
    """One machine: packages of numas, each with its cores, GPUs and HCAs by position."""
    packages: dict[object, list[Json]] = {}
    for i, id in enumerate(layout.numas):
        package = topology.package_of_numa(id)
        packages.setdefault("?" if package is None else package, []).append(_numa_json(topology, layout, i))
    return {
        "packages": [{"id": id, "numas": numas} for id, numas in packages.items()],
        "gpus": [gpu.pci for gpu in topology.gpus],
        "hcas": [hca.name for hca in topology.hcas],
        "stray": [i for i, home in enumerate(layout.gpu_home) if home == UNKNOWN],  # cards of unknown numa
        "strayHcas": [i for i, home in enumerate(layout.hca_home) if home == UNKNOWN],
        "reserved": str(CpuSet(layout.reserved)),
    }


def _numa_json(topology: Topology, layout: Layout, i: int) -> Json:
    mine = topology.numa(layout.numas[i]).cpus
    gpus = [g for g, home in enumerate(layout.gpu_home) if home == i]
    hcas = [h for h, home in enumerate(layout.hca_home) if home == i]
    cores = [list(core & mine) for core in topology.cores if core & mine]
    return {"id": layout.numas[i], "cores": cores, "gpus": gpus, "hcas": _below(layout, gpus, hcas)}


def _below(layout: Layout, gpus: Sequence[int], hcas: Sequence[int]) -> list[int | None]:
    """The HCAs by column, each below the GPU that it is nearest to, as far as the column is free."""
    columns: list[int | None] = [None] * max(len(gpus), len(hcas))
    for h in hcas:
        nearest = sorted(range(len(gpus)), key=lambda column: (layout.hca_links[gpus[column]][h], column))
        wanted = (*nearest, *range(len(columns)))
        columns[next(column for column in wanted if columns[column] is None)] = h
    return columns


@dataclass(frozen=True, slots=True)
class _Places:
    """Positions of one machine's devices by their names."""

    gpus: dict[str, int]
    hcas: dict[str, int]

    @classmethod
    def of(cls, topology: Topology) -> "_Places":
        return cls(
            {gpu.pci: i for i, gpu in enumerate(topology.gpus)}, {hca.name: i for i, hca in enumerate(topology.hcas)}
        )

    def pod(self, pod: MapPod) -> Json:
        allocation = pod.allocation
        if allocation is None:
            return _floating(pod)
        return {
            "n": pod.name,
            "c": str(allocation.cpus),
            "g": [self.gpus[gpu.pci] for gpu in allocation.gpus if gpu.pci in self.gpus],
            "h": [self.hcas[hca.name] for hca in allocation.hcas if hca.name in self.hcas],
            "u": list(allocation.numas),
        }


def _floating(pod: MapPod) -> Json:
    return {"n": pod.name, "k": pod.cards}

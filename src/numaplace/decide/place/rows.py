"""The rooms of many nodes as NumPy rows, for bounds that cost a few vector operations.

One column a node, in name order; (unit, node) arrays are padded with zeros to the
widest node. Derived from the nodes and refreshed one by one; never a source of truth.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from numaplace.decide.place.domains import Domains
from numaplace.decide.place.rank import aligned_places, cpus_per_gpu, empty_places
from numaplace.decide.place.room import Room, room_of
from numaplace.model.cluster import NodeState
from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import Layout

Ints = NDArray[np.int64]


class Rows:
    """All nodes that were counted; position = rank of the name."""

    def __init__(self, nodes: Sequence[NodeState]) -> None:
        self.nodes = sorted(nodes, key=lambda node: node.name)
        self.position = {node.name: i for i, node in enumerate(self.nodes)}
        self.rooms: list[Room | None] = [None] * len(nodes)
        self.layouts: list[Layout] = []  # the different ones; `layout` holds positions in it
        self._layout_position: dict[Layout, int] = {}
        count = len(nodes)
        units = max((len(node.layout.units) for node in nodes if node.layout), default=1) or 1
        self.unit_cpus, self.unit_gpus, self.unit_hcas = (np.zeros((units, count), np.int64) for _ in range(3))
        self.unit_single, self.unit_wide = np.zeros((units, count), bool), np.zeros((units, count), bool)
        self.units = np.zeros(count, np.int64)
        self.layout = np.full(count, -1, np.int64)  # -1: no topology
        self.gpus, self.hcas, self.shared_hcas = (np.zeros(count, np.int64) for _ in range(3))  # free; healthy
        self.pool_milli, self.pool_cpus = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.places, self.empty_places = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.cpus_per_gpu = np.zeros(count, np.int64)
        self.cards, self.usable = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.by_numa = np.zeros(count, bool)  # whether the node aligns to numas, not packages
        self.domains = Domains(self.nodes)
        for node in self.nodes:
            self.put(node)

    def put(self, node: NodeState) -> int:
        """Count `node` anew; it must be one of those given at the start, and no wider. Returns its position."""
        i = self.position[node.name]
        self.nodes[i] = node
        self.domains.put(i)
        if node.layout is None or node.stale:
            self.rooms[i], self.layout[i] = None, -1
            return i
        room = room_of(node)
        self.rooms[i] = room
        self.layout[i] = self._layout_position.setdefault(room.layout, len(self.layouts))
        if self.layout[i] == len(self.layouts):
            self.layouts.append(room.layout)
        self._count(i, room)
        return i

    def fits(self, node: NodeState) -> bool:
        """Whether `put` may take this node."""
        wide = len(node.layout.units) if node.layout else 0
        return node.name in self.position and wide <= len(self.unit_cpus)

    def _count(self, i: int, room: Room) -> None:
        layout = room.layout
        for u, unit in enumerate(layout.units):
            self.unit_gpus[u, i], self.unit_hcas[u, i], self.unit_cpus[u, i] = room.free_in(tuple(CpuSet(unit)))
            self.unit_single[u, i], self.unit_wide[u, i] = room.single >> u & 1, room.wide >> u & 1
        for array in (self.unit_cpus, self.unit_gpus, self.unit_hcas, self.unit_single, self.unit_wide):
            array[len(layout.units) :, i] = 0
        self.units[i] = len(layout.units)
        self.gpus[i], self.hcas[i] = room.gpus.bit_count(), room.hcas.bit_count()
        self.shared_hcas[i] = room.healthy_hcas.bit_count()
        self.pool_milli[i], self.pool_cpus[i] = room.pool_milli, room.pool_cpus
        self.places[i], self.empty_places[i] = aligned_places(room, {}, 0), empty_places(layout)
        self.cpus_per_gpu[i] = cpus_per_gpu(layout)
        self.cards[i] = len(layout.gpu_home)
        self.usable[i] = layout.usable_cpus
        self.by_numa[i] = len(layout.units) == len(layout.numas)

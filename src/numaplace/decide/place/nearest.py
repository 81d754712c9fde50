"""The nearest miss among nodes that refuse: the last in the order of codes, then who lacks least, then the lower name.

What a node lacks is counted in GPUs first, then HCAs, then CPUs: of its best unit where
the Pod must lie in one, else of the whole node. One node and many go through the
same sums.
"""

import numpy as np

from numaplace.decide.place.ask import Ask, ask_of
from numaplace.decide.place.room import Room, room_of
from numaplace.decide.place.rows import Ints, Rows
from numaplace.model.cluster import NodeState
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest, Policy

Nearness = tuple[int, tuple[int, int], NodeName]

_BITS = 20  # for each amount: more than any node has
_MOST = (1 << _BITS) - 1
_UNKNOWN = (1 << 3 * _BITS, 1 << 3 * _BITS)  # nobody knows what the node has: behind all others


def nearness(node: NodeState, request: PodRequest, refusal: Refusal) -> Nearness:
    """The order of nodes that refuse; the least is the nearest miss."""
    lack = (0, 0)
    if _counts(refusal.code):
        room = None if node.layout is None or node.stale else room_of(node)
        lack = _UNKNOWN if room is None else _lack_of(room, ask_of(request))
    return -refusal.code.precedence, lack, node.name


def nearest_of(rows: Rows, ask: Ask, code: Code, which: Ints) -> int:
    """The nearest of the rows `which`, all of which refuse by `code`; rows are in the order of names."""
    if not _counts(code) or len(which) == 1:
        return int(which[0])
    free = (rows.unit_gpus[:, which], rows.unit_hcas[:, which], rows.unit_cpus[:, which])
    first, second = _lacks(ask, *free, rows.gpus[which], rows.hcas[which])
    unknown = rows.layout[which] < 0
    first, second = np.where(unknown, _UNKNOWN[0], first), np.where(unknown, _UNKNOWN[1], second)
    return int(which[np.lexsort((second, first))[0]])


def _counts(code: Code) -> bool:
    """Whether it is room that the node lacks; rules and missing reports have no more and less."""
    return code.precedence >= Code.GPUS_SHORT.precedence


def _lack_of(room: Room, ask: Ask) -> tuple[int, int]:
    units = [room.free_in(tuple(CpuSet(unit))) for unit in room.layout.units] or [room.free_in(())]
    gpus, hcas, cpus = np.array(units, np.int64).T[:, :, None]
    whole = np.array([room.gpus.bit_count()]), np.array([room.hcas.bit_count()])
    first, second = _lacks(ask, gpus, hcas, cpus, *whole)
    return int(first[0]), int(second[0])


def _lacks(ask: Ask, gpus: Ints, hcas: Ints, cpus: Ints, all_gpus: Ints, all_hcas: Ints) -> tuple[Ints, Ints]:
    """What each node lacks, the more important number first; (unit, node) and (node) arrays of what is free."""
    in_unit = _packed(ask, gpus, hcas, cpus).min(axis=0)
    in_node = _packed(ask, all_gpus, all_hcas, cpus.sum(axis=0))
    return (in_unit, in_node) if ask.policy is Policy.SINGLE_NUMA_NODE else (in_node, in_unit)


def _packed(ask: Ask, gpus: Ints, hcas: Ints, cpus: Ints) -> Ints:
    asked_cpus = ask.cpus or -(-ask.confined_milli // 1000)
    amounts = ((ask.gpus, gpus), (ask.hcas, hcas), (asked_cpus, cpus))
    gpus, hcas, cpus = (np.clip(asked - free, 0, _MOST) for asked, free in amounts)
    return gpus << 2 * _BITS | hcas << _BITS | cpus

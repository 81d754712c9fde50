"""Signature: all that the search and the score read of a room, for one ask.

Rooms with equal signatures get equal choices, so an answer is looked up before it is
searched. CPUs by number are not in it: they are chosen after the choice is made.
"""

from collections.abc import Hashable

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.choose import node_allows
from numaplace.decide.place.room import Room
from numaplace.model.request import CpuRule


def signature_of(room: Room, ask: Ask) -> Hashable:
    """A value that is equal only for rooms in which `ask` has the same choice with the same score."""
    if not node_allows(room, ask) or room.gpus.bit_count() < ask.gpus or room.hcas.bit_count() < ask.hcas:
        return None  # nothing fits, whatever else the room has
    numas = range(len(room.layout.numas))
    return (
        room.layout,
        room.gives,
        room.gpus,
        room.hcas if ask.hcas else 0,
        room.healthy_hcas if ask.shared_hcas else 0,
        room.single,
        room.wide,
        tuple(bits.bit_count() for bits in room.cpus) + room.confined_milli if ask.confined_milli else (),
        tuple(min(free, ask.memory_bytes) for free in room.memory) if ask.memory_bytes else (),
        room.pages if ask.hugepages else (),
        tuple(map(room.whole_core_cpus, numas)) if ask.cpu_rule is CpuRule.FULL_CORES_ONLY else (),
        0 if ask.gpus else room.pool_milli,
    )

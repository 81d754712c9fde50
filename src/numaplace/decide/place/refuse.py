"""Why a Pod has no place on a node: the code that applies first, numbers, and what would fit.

Runs only after the search said no. A code that blames one rule is proved by lifting
that rule and searching again.
"""

from collections.abc import Iterator
from dataclasses import replace

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.choose import choose, fits, pool_allows
from numaplace.decide.place.room import Room, with_faulty_devices, without_marks
from numaplace.decide.place.sentence import fits_text, sentence_of
from numaplace.model.ids import NodeName
from numaplace.model.layout import UNKNOWN, homed
from numaplace.model.refusal import Code, NumaRoom, Refusal
from numaplace.model.request import CpuRule, Policy


def refuse(node: NodeName, room: Room, ask: Ask) -> Refusal:
    """Explain why `choose` found nothing in `room`."""
    code = code_of(room, ask)
    rooms = tuple(_numa_room(room, i) for i in range(len(room.layout.numas)))
    fits = _best_thatfits(room, ask)
    return Refusal(code, sentence_of(node, room, rooms, ask, code, fits), node, rooms, fits)


def code_of(room: Room, ask: Ask) -> Code:
    """The first code that applies: short even with the faulty devices, one rule to blame, short without them."""
    short = _short_in_node(with_faulty_devices(room), ask)
    if short is not None:
        return short
    lifted = next((code for code, would_fit in _lifted_rules(room, ask) if would_fit), None)
    return lifted or _short_in_node(room, ask) or Code.NOT_ALIGNABLE


def _short_in_node(room: Room, ask: Ask) -> Code | None:
    """The first resource of which the whole node has too little."""
    if room.gpus.bit_count() < ask.gpus:
        return Code.GPUS_SHORT
    if room.hcas.bit_count() < ask.hcas or (ask.shared_hcas and not room.healthy_hcas):
        return Code.HCAS_SHORT
    free_milli = sum(1000 * bits.bit_count() for bits in room.cpus) - sum(room.confined_milli)
    if sum(room.gives) < ask.cpus or free_milli < ask.confined_milli or not pool_allows(room, ask):
        return Code.CPUS_SHORT
    pages = {size: sum(free) for (size, _), free in zip(room.layout.pages, room.pages, strict=True)}
    if any(pages.get(wanted.page_bytes, 0) < wanted.pages for wanted in ask.hugepages):
        return Code.HUGEPAGES_SHORT
    return Code.MEMORY_SHORT if ask.binds_memory and sum(room.memory) < ask.memory_bytes else None


def _lifted_rules(room: Room, ask: Ask) -> Iterator[tuple[Code, bool]]:
    """Each code that blames one rule, and whether the Pod would fit without that rule."""
    if ask.cpu_rule is CpuRule.FULL_CORES_ONLY:
        yield Code.SMT_PARTIAL, fits(room, replace(ask, cpu_rule=CpuRule.FULL_CORES))
    if UNKNOWN in room.layout.gpu_home + room.layout.hca_home:
        yield Code.DEVICE_NUMA_UNKNOWN, fits(room, ask, trusting=True)
    if room.faulty_gpus or room.faulty_hcas:
        yield Code.DEVICE_UNHEALTHY, fits(with_faulty_devices(room), ask)
    if ask.exclusive and room.single | room.wide:
        yield Code.NUMA_EXCLUSIVE, fits(without_marks(room), ask)


def _numa_room(room: Room, i: int) -> NumaRoom:
    layout = room.layout
    return NumaRoom(
        numa=layout.numas[i],
        cpus=room.gives[i],
        gpus=(room.gpus & homed(layout.gpu_home, (i,))).bit_count(),
        hcas=(room.hcas & homed(layout.hca_home, (i,))).bit_count(),
        memory_bytes=room.memory[i],
        marks=room.marks_of(i),
    )


def _best_thatfits(room: Room, ask: Ask) -> str:
    """The nearest smaller or looser request that fits now: fewer CPUs, fewer GPUs, another policy; "" for none."""
    smaller = next((one for one in _smaller_asks(room, ask) if fits(room, one)), None)
    choice = choose(room, smaller) if smaller else None
    return fits_text(room, ask, smaller, choice) if smaller and choice else ""


def _smaller_asks(room: Room, ask: Ask) -> Iterator[Ask]:
    if ask.cpus > 1:
        least, most = 0, ask.cpus  # the first fits or is nothing, the second does not fit
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (middle, most) if fits(room, _with_cpus(ask, middle)) else (least, middle)
        if least:
            yield _with_cpus(ask, least)
    most_gpus = min(ask.gpus - 1, room.gpus.bit_count())
    yield from (replace(ask, gpus=fewer) for fewer in range(most_gpus, 0, -1))
    if ask.aligns:
        yield replace(ask, policy=Policy.BEST_EFFORT, exclusive=False)


def _with_cpus(ask: Ask, cpus: int) -> Ask:
    return replace(ask, cpus=cpus, cpu_counts=(cpus,))

"""The words of a refusal: what is asked, what each numa has, what would fit.

One sentence, both numbers in it; `grouped` says it for a whole cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.choose import least_width
from numaplace.decide.place.room import Room
from numaplace.decide.place.trial import Choice
from numaplace.model.ids import NodeName
from numaplace.model.layout import UNKNOWN, AlignLevel
from numaplace.model.proximity import Level
from numaplace.model.refusal import Code, NumaRoom, Refusal
from numaplace.model.request import Policy


def sentence_of(node: NodeName, room: Room, rooms: Sequence[NumaRoom], ask: Ask, code: Code, fits: str) -> str:
    """The refusal as one sentence."""
    parts = [f"needs {asked_text(ask)}{_where_text(room, ask)}", f"node {node}: {_has_text(room, rooms, ask)}"]
    parts.extend(filter(None, (_cause_text(room, ask, code), fits)))
    return "; ".join(parts)


def fits_text(room: Room, ask: Ask, smaller: Ask, choice: Choice) -> str:
    """What would fit, and where."""
    numas = room.layout.ids(choice.numas)
    there = f"numa {numas[0]}" if len(numas) == 1 else "numas " + ",".join(map(str, numas))
    if smaller.policy is not ask.policy:
        return f"fits {there} as BestEffort"
    return (
        f"fits {there} with {plural(smaller.gpus, 'GPU') if smaller.gpus != ask.gpus else plural(smaller.cpus, 'CPU')}"
    )


def grouped(nearest: Refusal, counts: Mapping[Code, int]) -> Refusal:
    """The refusal of a whole cluster: how many nodes gave which code, then the nearest miss in full."""
    nodes = sum(counts.values())
    if nodes == 1:
        return nearest
    said = ", ".join(f"{count} {code}" for code, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    return replace(nearest, sentence=f"no place on {nodes} nodes ({said}); nearest: {nearest.sentence}")


def asked_text(ask: Ask) -> str:
    """The joint request in words: `4 GPUs, 2 HCAs and 24 CPUs`."""
    shared_milli = ask.confined_milli or (0 if ask.cpus or ask.gpus else ask.floating_milli)
    things = [
        plural(ask.gpus, "GPU") if ask.gpus else "",
        plural(ask.hcas, "HCA") if ask.hcas else "a shared HCA" if ask.shared_hcas else "",
        plural(ask.cpus, "CPU") if ask.cpus else "",
        f"{shared_milli / 1000:g} shared CPUs" if shared_milli else "",
        *(f"{plural(h.pages, 'hugepage')} of {size_text(h.page_bytes)}" for h in ask.hugepages),
        f"{size_text(ask.memory_bytes)} of bound memory" if ask.binds_memory else "",
    ]
    return _listed(things) or "nothing"


def plural(count: int, noun: str) -> str:
    """`1 GPU`, `2 GPUs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def size_text(size_bytes: int) -> str:
    """Bytes in the largest binary unit that leaves a short number: `2Mi`, `1.5Ti`."""
    value, unit = float(size_bytes), ""
    for unit in ("", "Ki", "Mi", "Gi", "Ti", "Pi"):
        if value < 1024 or unit == "Pi":
            break
        value /= 1024
    return f"{value:.4g}{unit}"


def _where_text(room: Room, ask: Ask) -> str:
    what = "NUMA node" if room.layout.align is AlignLevel.NUMA else "package"
    if ask.policy is Policy.SINGLE_NUMA_NODE:
        return f" in one {what}"
    if ask.policy is Policy.RESTRICTED:
        width = least_width(room.layout, ask)
        return f" in {plural(width, what)}" if width else f" in the fewest {what}s of an empty node"
    return ""


def _has_text(room: Room, rooms: Sequence[NumaRoom], ask: Ask) -> str:
    if not rooms:
        return "has no usable CPU"
    return ", ".join(f"numa {one.numa} has {_free_text(one, _pages(room, i), ask)} free" for i, one in enumerate(rooms))


def _free_text(room: NumaRoom, pages: Mapping[int, int], ask: Ask) -> str:
    things = [
        plural(room.gpus, "GPU") if ask.gpus else "",
        plural(room.hcas, "HCA") if ask.hcas else "",
        plural(room.cpus, "CPU") if ask.cpus or ask.confined_milli or not ask.gpus else "",
        *(f"{plural(pages.get(h.page_bytes, 0), 'hugepage')} of {size_text(h.page_bytes)}" for h in ask.hugepages),
        size_text(room.memory_bytes or 0) if ask.binds_memory else "",
    ]
    return _listed(things)


def _pages(room: Room, i: int) -> Mapping[int, int]:
    """Free hugepages of a numa by their size."""
    return {size: free[i] for (size, _), free in zip(room.layout.pages, room.pages, strict=True)}


def _listed(things: Iterable[str]) -> str:
    """`a, b and c`, empty things left out."""
    *most, last = list(filter(None, things)) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _cause_text(room: Room, ask: Ask, code: Code) -> str:
    """What besides the free numbers stands in the way."""
    if code is Code.CPUS_SHORT:
        return _pool_text(room, ask)
    if code is Code.HUGEPAGES_SHORT:
        return _pages_text(room)
    if code is Code.SMT_PARTIAL:
        threads = room.layout.threads
        return f"full-cores-only needs counts in multiples of {threads} and whole free cores of {threads} threads"
    if code is Code.DEVICE_NUMA_UNKNOWN:
        gpus = sum(1 for home in room.layout.gpu_home if home == UNKNOWN)
        return f"{plural(gpus, 'GPU')} of the node without a known NUMA node: for BestEffort or the operator's override"
    if code is Code.DEVICE_UNHEALTHY:
        faulty = room.faulty_gpus.bit_count() + room.faulty_hcas.bit_count()
        return f"{plural(faulty, 'device')} would be free but for a fault"
    if code is Code.NUMA_EXCLUSIVE:
        return f"{_marks_text(room)}, which singleNUMANodeExclusive: Required forbids; Preferred would allow it"
    if code is Code.NOT_ALIGNABLE and ask.limit is not Level.SYS:
        return f"each GPU needs an HCA at {ask.limit.name} or nearer"
    return ""


def _pool_text(room: Room, ask: Ask) -> str:
    left = max(0, min(room.pool_milli, 1000 * room.pool_cpus if ask.cpus else room.pool_milli))
    return f"the whole node can give {left / 1000:g} CPUs more" if left < 1000 * sum(room.gives) else ""


def _pages_text(room: Room) -> str:
    sizes = zip(room.layout.pages, room.pages, strict=True)
    free = ", ".join(f"{sum(counts)} of {size_text(size)}" for (size, _), counts in sizes)
    return f"free hugepages: {free or 'none'}"


def _marks_text(room: Room) -> str:
    layout, held = room.layout, []
    for u in range(len(layout.units)):
        for name, mask in (("single-NUMA", room.single), ("multi-NUMA", room.wide)):
            if mask >> u & 1:
                ids = ",".join(map(str, layout.ids(layout.units[u])))
                held.append(f"numa {ids} holds {name} Pods")
    return ", ".join(held)

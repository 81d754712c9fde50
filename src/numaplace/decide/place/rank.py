"""Ranking nodes: width and marks first, then a score of named parts.

Each part is 0..1 and has a reason in numbers, so that `explain` can show why one
node won. The defaults of the weights are in `model/settings.py`.
"""

from dataclasses import dataclass
from functools import lru_cache

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.room import Room, empty_room
from numaplace.decide.place.trial import Choice
from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import Layout, homed
from numaplace.model.proximity import Level
from numaplace.model.settings import Settings

GPU_SIZES = (1, 2, 4, 8)  # the Pod sizes whose single-numa placements fragmentation counts
PPM = 1_000_000  # scores are compared in millionths, so that every path to a score agrees


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a node's score: 0 worst, 1 best."""

    name: str
    value: float
    weight: float
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """A node's place in the order; smaller is better, ties go to the node name."""

    width: int
    marks: int
    loss_ppm: int  # 1 - score, in millionths

    @property
    def score(self) -> float:
        """The weighted mean of the parts, 0..1."""
        return 1 - self.loss_ppm / PPM


def parts_of(room: Room, ask: Ask, choice: Choice, wishes: float, settings: Settings) -> tuple[Part, ...]:
    """The score's parts for `choice` in `room`; `wishes` is what decide/rules says of the soft wishes."""
    weights = settings.weights
    named = (
        ("distance", weights.distance, _distance(choice)),
        ("gpu-hca", weights.gpu_hca, _gpu_hca(ask, choice)),
        ("wishes", weights.wishes, (wishes, "preferred node affinity and PreferNoSchedule taints")),
        ("fragmentation", weights.fragmentation, _fragmentation(room, ask, choice)),
        ("packing", weights.packing, _packing(room, ask, spread=settings.spread_nodes)),
        ("memory", weights.memory, _memory(ask, choice)),
    )
    return tuple(Part(name, value, weight, reason) for name, weight, (value, reason) in named)


def rank_of(choice: Choice, parts: tuple[Part, ...]) -> Rank:
    """Width, marks, and the weighted mean of the parts in millionths."""
    total = sum(part.weight for part in parts)
    score = sum(part.weight * part.value for part in parts) / total if total else 0.0
    return Rank(choice.width, choice.marks, round((1 - score) * PPM))


def _distance(choice: Choice) -> tuple[float, str]:
    units = choice.units.bit_count()
    pairs = units * (units - 1) // 2
    if not pairs:
        return 1.0, "one NUMA domain"
    mean = choice.distance / pairs
    return min(1.0, 10 / mean), f"mean distance {mean:.1f} between {units} domains"


def _gpu_hca(ask: Ask, choice: Choice) -> tuple[float, str]:
    if not ask.gpus or not (ask.hcas or ask.shared_hcas):
        return 1.0, "GPUs and HCAs are not both asked"
    mean = choice.devices.hca_cost / ask.gpus
    return 1 - mean / Level.SYS, f"mean level {mean:.1f} of {Level.SYS.value} from a GPU to its nearest HCA"


def _memory(ask: Ask, choice: Choice) -> tuple[float, str]:
    if not ask.memory_bytes:
        return 1.0, "no memory preference"
    short = choice.memory_short / ask.memory_bytes
    return 1 - min(1.0, short), f"{short:.0%} of the memory must come from other domains"


def _packing(room: Room, ask: Ask, *, spread: bool) -> tuple[float, str]:
    layout = room.layout
    if ask.gpus:
        used, total, what = (
            layout.whole_gpus.bit_count() - room.gpus.bit_count() + ask.gpus,
            len(layout.gpu_home),
            "GPUs",
        )
    else:
        total, what = layout.usable_cpus, "CPUs"
        used = total - room.pool_milli // 1000 + ask.cpus + (ask.confined_milli + ask.floating_milli) // 1000
    fullness = min(1.0, used / total) if total else 1.0
    return 1 - fullness if spread else fullness, f"{used} of {total} {what} taken afterwards"


def _fragmentation(room: Room, ask: Ask, choice: Choice) -> tuple[float, str]:
    empty = empty_places(room.layout)
    if not empty:
        return 1.0, "the node has no single-numa GPU placements to lose"
    after = aligned_places(room, _taken_cpus(room, ask, choice), sum(1 << g for g in choice.devices.gpus))
    lost = aligned_places(room, {}, 0) - after
    return (empty - lost) / empty, f"{lost} of the node's {empty} single-numa GPU placements lost"


def _taken_cpus(room: Room, ask: Ask, choice: Choice) -> dict[int, int]:
    """CPUs that a choice takes from each numa, near enough for a score: in proportion to its GPUs."""
    members = tuple(CpuSet(choice.numas))
    homes = [room.layout.gpu_home[g] for g in choice.devices.gpus]
    known = [home for home in homes if home >= 0] or list(members)
    return {i: -(-ask.cpus * known.count(i) // len(known)) for i in members}


@lru_cache(maxsize=1 << 12)
def empty_places(layout: Layout) -> int:
    """`aligned_places` of the node when it is empty."""
    return aligned_places(empty_room(layout), {}, 0)


def aligned_places(room: Room, taken_cpus: dict[int, int], taken_gpus: int) -> int:
    """How many Pods of 1, 2, 4 and 8 GPUs with CPUs in proportion fit one numa each, summed over sizes and numas."""
    layout, cpus_a_gpu = room.layout, cpus_per_gpu(room.layout)
    free_gpus, places = room.gpus & ~taken_gpus, 0
    for i, give in enumerate(room.gives):
        free = (free_gpus & homed(layout.gpu_home, (i,))).bit_count()
        cpus = max(0, give - taken_cpus.get(i, 0))
        served = min(free, cpus // cpus_a_gpu) if cpus_a_gpu else free
        places += sum(served // size for size in GPU_SIZES)
    return places


def served_gpus(room: Room) -> tuple[int, ...]:
    """Free GPUs of each numa, no more than its free CPUs, and those of the whole node, serve in proportion."""
    layout, cpus_a_gpu = room.layout, cpus_per_gpu(room.layout)
    left = max(0, room.pool_milli // 1000) // cpus_a_gpu if cpus_a_gpu else len(layout.gpu_home)
    served: list[int] = []
    for i, cpus in enumerate(room.gives):
        free = (room.gpus & homed(layout.gpu_home, (i,))).bit_count()
        served.append(min(free, left, cpus // cpus_a_gpu if cpus_a_gpu else free))
        left -= served[-1]
    return tuple(served)


@lru_cache(maxsize=1 << 12)
def cpus_per_gpu(layout: Layout) -> int:
    """The CPUs in proportion to one GPU, rounded down so that reserved CPUs do not cost a numa a whole GPU."""
    return layout.usable_cpus // len(layout.gpu_home) if layout.gpu_home else 0

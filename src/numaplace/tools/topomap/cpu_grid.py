"""The CPUs of a NUMA domain as small cells: a column is a core, its threads stand below each other.

Cores that share a last-level cache stand together. A row of threads is one rectangle
with white lines over it, so that a page with many machines stays small.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from numaplace.model.cpuset import CpuSet, union
from numaplace.model.topology import Numa, Topology
from numaplace.tools.topomap.blocks import SMALL_LETTER, Block, flowing, number, stacked, text

CELL, PITCH, ROW_GAP = 8, 9, 4
CORES_A_ROW = 24
WIDTH = 244.0  # room for a row of cores, and for two switches with two cards each

_LIST_LETTERS = int(WIDTH / SMALL_LETTER)


def cpu_grid(topology: Topology, numa: Numa) -> Block:
    """All CPUs of the domain, and their numbers below."""
    groups = [_group(cores, name) for name, cores in _groups(topology, numa)]
    return stacked([flowing(groups, WIDTH, 6), *_numbers(numa.cpus)], 4)


def _groups(topology: Topology, numa: Numa) -> Iterator[tuple[str, list[CpuSet]]]:
    """Cores by cache and kind, with a name where there are kinds."""
    cores = [core & numa.cpus for core in topology.cores if core & numa.cpus]
    cores += [CpuSet(1 << cpu) for cpu in numa.cpus - union(cores)]
    kinds = [(kind.name, kind.cpus) for kind in topology.core_kinds] or [("", numa.cpus)]
    caches = [llc.cpus & numa.cpus for llc in topology.llcs if llc.cpus & numa.cpus]
    caches.append(numa.cpus - union(caches))
    for cache in caches:
        for name, of_kind in kinds:
            mine = [core for core in cores if core.first() in cache and core.first() in of_kind]
            if mine:
                yield name, mine


def _group(cores: Sequence[CpuSet], name: str) -> Block:
    threads = max(map(len, cores))
    rows = [cores[at : at + CORES_A_ROW] for at in range(0, len(cores), CORES_A_ROW)]
    pitch = threads * PITCH + ROW_GAP
    shape = "".join(
        f"M{first * PITCH} {row * pitch + thread * PITCH}h{count * PITCH - 1}v{CELL}h-{count * PITCH - 1}z"
        for row, in_row in enumerate(rows)
        for thread in range(threads)
        for first, count in _runs(in_row, thread)
    )
    cells = f'<path class="cpu" d="{shape}"><title>CPUs {union(cores)}</title></path>'
    width, height = len(rows[0]) * PITCH - 1, len(rows) * pitch - ROW_GAP - 1
    grid = Block(width, height, cells + _lines(len(rows[0]), height))
    return stacked([text(name, "small soft"), grid], 1) if name else grid


def _runs(cores: Sequence[CpuSet], thread: int) -> Iterator[tuple[int, int]]:
    """Neighbouring cores that have such a thread: the first column, and how many."""
    column = 0
    for has_thread, some in groupby(len(core) > thread for core in cores):
        count = len(list(some))
        if has_thread:
            yield column, count
        column += count


def _lines(columns: int, height: float) -> str:
    shape = "".join(f"M{number(column * PITCH - 0.5)} 0v{number(height)}" for column in range(1, columns))
    return f'<path class="lines" d="{shape}"/>' if shape else ""


def _numbers(cpus: CpuSet) -> Iterator[Block]:
    """The list of CPUs, on lines no wider than the cells."""
    line = ""
    for part in f"CPUs {cpus}".replace(",", ", ").split(" "):
        if line and len(line) + len(part) + 1 > _LIST_LETTERS:
            yield text(line, "small soft")
            line = ""
        line = f"{line} {part}".strip()
    yield text(line, "small soft")

"""The CPUs of a NUMA domain as small cells: a column is a core, its threads stand below each other.

Cores that share a last-level cache stand together. Neighbours of one holder are one
rectangle with white lines over it, so that a map of a thousand nodes stays small.
"""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from numaplace.model.cpuset import CpuSet, union
from numaplace.model.topology import Numa, Topology
from numaplace.tools.topomap.blocks import SMALL_LETTER, Block, flowing, number, stacked, text
from numaplace.tools.topomap.holders import Paint

CELL, PITCH, ROW_GAP = 8, 9, 4
CORES_A_ROW = 24
WIDTH = 244.0  # room for a row of cores, and for two switches with two cards each

_LIST_LETTERS = int(WIDTH / SMALL_LETTER)


def cpu_grid(topology: Topology, numa: Numa, paint: Paint) -> Block:
    """All CPUs of the domain, and their numbers below."""
    groups = [_group(cores, name, paint) for name, cores in _groups(topology, numa)]
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


def _group(cores: Sequence[CpuSet], name: str, paint: Paint) -> Block:
    threads = max(map(len, cores))
    rows = [cores[at : at + CORES_A_ROW] for at in range(0, len(cores), CORES_A_ROW)]
    pitch = threads * PITCH + ROW_GAP
    runs: dict[str | None, list[str]] = {}
    cpus: dict[str | None, int] = {}
    for row, in_row in enumerate(rows):
        for thread in range(threads):
            for holder, first, members in _runs(in_row, thread, paint):
                width = len(members) * PITCH - 1
                place = f"M{first * PITCH} {row * pitch + thread * PITCH}"
                runs.setdefault(holder, []).append(f"{place}h{width}v{CELL}h-{width}z")
                cpus[holder] = cpus.get(holder, 0) | CpuSet.of(members).bits
    paths = (_path(holder, "".join(parts), CpuSet(cpus[holder]), paint) for holder, parts in runs.items())
    width, height = len(rows[0]) * PITCH - 1, len(rows) * pitch - ROW_GAP - 1
    grid = Block(width, height, "".join(paths) + _lines(len(rows[0]), height))
    return stacked([text(name, "small soft"), grid], 1) if name else grid


def _runs(cores: Sequence[CpuSet], thread: int, paint: Paint) -> Iterator[tuple[str | None, int, list[int]]]:
    """Neighbouring cores of one holder: the holder, the first column, and the CPUs."""
    cells = [list(core)[thread] if len(core) > thread else None for core in cores]
    column = 0
    for (is_cpu, holder), some in groupby(cells, key=lambda cpu: (cpu is not None, paint.holder_of_cpu(cpu))):
        members = list(some)
        if is_cpu:
            yield holder, column, [cpu for cpu in members if cpu is not None]
        column += len(members)


def _path(holder: str | None, shape: str, cpus: CpuSet, paint: Paint) -> str:
    style = f' style="fill:{paint.colours[holder]}"' if holder is not None else ""
    title = f"<title>{escape(paint.title_of(holder))}CPUs {cpus}</title>"
    return f'<path class="cpu"{style} d="{shape}">{title}</path>'


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

"""Last-level caches: which CPUs share one.

Taken for each CPU by itself, because cores of one CPU may end at different levels.
docs/sources.md#caches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from numaplace.decide.discover.partition import groups_of
from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import CPU, SHARED
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.finding import FindingCode
from numaplace.model.topology import Llc, Package

FIRST_SHARED_LEVEL = 2  # a level-1 cache is a part of its core

_SIZE = re.compile(r"(\d{1,12})([KMG]?)", re.ASCII)
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def assemble_llcs(reading: Reading, online: CpuSet, packages: Iterable[Package]) -> tuple[Llc, ...]:
    """The last-level caches, by lowest CPU; none where the machine shows no cache above level 1."""
    told: dict[int, dict[int, CpuSet]] = {}
    folder_of = {}
    for cpu in online & reading.cpu_folders:
        last = _last_level(reading, cpu)
        if last is not None:
            level, folder_of[cpu], shared = last
            told.setdefault(level, {})[cpu] = shared & online
    llcs: list[Llc] = []
    for level, sets in sorted(told.items(), reverse=True):
        taken = union(llc.cpus for llc in llcs)
        groups, odd = groups_of({cpu: shared - taken for cpu, shared in sets.items() if cpu not in taken})
        if odd:
            text = f"CPUs {odd} contradict other CPUs about their level-{level} cache"
            reading.doubt(FindingCode.LLC_CROSSES, CPU, text)
        llcs += [Llc(level, group, _size(reading, _first_folder(group, folder_of))) for group in groups]
    _doubt_crossing(reading, llcs, [package.cpus for package in packages])
    return tuple(sorted(llcs, key=lambda llc: llc.cpus.first()))


def _last_level(reading: Reading, cpu: int) -> tuple[int, str, CpuSet] | None:
    """Level, folder and CPUs of the highest data cache of `cpu` that tells who shares it."""
    folders = (f"{CPU}/cpu{cpu}/cache/index{index}" for index in reading.numbered(f"{CPU}/cpu{cpu}/cache", "index"))
    levels = [(level, folder) for folder in folders if (level := reading.number(f"{folder}/level")) is not None]
    for level, folder in sorted(levels, key=lambda one: -one[0]):
        if level < FIRST_SHARED_LEVEL:
            break
        if reading.text(f"{folder}/type") == "Instruction":
            continue
        shared = reading.cpus(folder, SHARED)
        if shared is not None and cpu in shared:
            return level, folder, shared
    return None


def _first_folder(group: CpuSet, folder_of: Mapping[int, str]) -> str:
    return next(folder_of[cpu] for cpu in group if cpu in folder_of)


def _size(reading: Reading, folder: str) -> int | None:
    text = reading.text(f"{folder}/size")
    match = _SIZE.fullmatch(text or "")
    if match is not None:
        return int(match[1]) * _UNITS[match[2]] or None
    if text is not None:
        reading.doubt(FindingCode.FILE_BROKEN, f"{folder}/size", f"holds {text[:40]!r}, not a size such as 48K")
    return None


def _doubt_crossing(reading: Reading, llcs: Sequence[Llc], packages: Sequence[CpuSet]) -> None:
    for llc in llcs:
        if sum(not llc.cpus.isdisjoint(package) for package in packages) > 1:
            text = f"the level-{llc.level} cache of CPUs {llc.cpus} spans packages; guests invent such caches"
            reading.doubt(FindingCode.LLC_CROSSES, f"{CPU}/cpu{llc.cpus.first()}/cache", text)

"""NUMA domains: ids, CPUs, memory, kind; their distances are read in `distances`.

Ids are names with gaps, never positions. What the kernel says of CPUs is kept even
where domains overlap, and only doubted aloud. docs/sources.md#numa.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from numaplace.decide.discover.distances import assemble_distances
from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import HUGEPAGES, MEMINFO, NODE
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.finding import FindingCode
from numaplace.model.ids import NumaId
from numaplace.model.topology import HugepagePool, Numa, NumaKind

MEMORY_TOLERANCE = 0.1  # the domains may miss the whole by what the kernel keeps for itself

_MEMORY_LINE = re.compile(r"^(?:Node +\d+ +)?(MemTotal|MemFree):[ \t]+(\d{1,15})[ \t]*kB", re.MULTILINE | re.ASCII)
_KIB = 1024


def assemble_numas(reading: Reading, online: CpuSet, device_memory: Collection[NumaId]) -> tuple[Numa, ...]:
    """The NUMA domains by rising id; `device_memory` are those that drivers call their cards' memory.

    Without any node folder the machine is one domain 0 that holds everything.
    """
    ids = _ids(reading)
    if not ids:
        return (_whole_machine(reading, online),) if online else ()
    distances = assemble_distances(reading, ids)
    believed = _Believed(
        with_memory=reading.ids(f"{NODE}/has_memory") or reading.ids(f"{NODE}/has_normal_memory"),
        initiators=frozenset(reading.ids(f"{NODE}/has_generic_initiator") or ()),
        device_memory=frozenset(device_memory),
    )
    numas = tuple(_numa(reading, id, online, believed, distances[id]) for id in ids)
    _doubt_cpus(reading, numas, online)
    _doubt_memory(reading, numas)
    return numas


@dataclass(frozen=True, slots=True)
class _Believed:
    """What is said of domains outside their own folders."""

    with_memory: tuple[int, ...] | None  # None = not told
    initiators: frozenset[int]
    device_memory: frozenset[int]

    def kind_of(self, id: NumaId, cpus: CpuSet, memory_bytes: int | None) -> NumaKind:
        """What the domain holds; where its own size is not told, the kernel's list of domains with memory counts."""
        listed = self.with_memory is None or id in self.with_memory
        has_memory = listed if memory_bytes is None else memory_bytes > 0
        if cpus:
            return NumaKind.CPU if has_memory else NumaKind.CPU_WITHOUT_MEMORY
        if id in self.device_memory or (has_memory and id in self.initiators):
            return NumaKind.DEVICE_MEMORY
        return NumaKind.MEMORY if has_memory else NumaKind.INITIATOR


def _ids(reading: Reading) -> list[NumaId]:
    """The domains that have a folder and are online, rising."""
    folders = reading.numbered(NODE, "node")
    online = reading.ids(f"{NODE}/online")
    if not online:
        return [NumaId(id) for id in folders]
    for id in sorted(set(online) - set(folders)):
        reading.doubt(FindingCode.FILE_BROKEN, f"{NODE}/node{id}", f"NUMA domain {id} is online but has no folder")
    # A list that names no folder at all describes another machine.
    return [NumaId(id) for id in folders if id in online] or [NumaId(id) for id in folders]


def _numa(reading: Reading, id: NumaId, online: CpuSet, believed: _Believed, distances: dict[NumaId, int]) -> Numa:
    folder = f"{NODE}/node{id}"
    cpus = reading.cpus(folder, ("cpulist", "cpumap"))
    if cpus is None:
        reading.doubt(FindingCode.FILE_BROKEN, folder, f"NUMA domain {id} does not tell its CPUs")
    mine = (cpus or CpuSet()) & online
    total, free = _memory(reading, f"{folder}/meminfo")
    return Numa(
        id=id,
        kind=believed.kind_of(id, mine, total),
        cpus=mine,
        memory_bytes=total,
        free_bytes=free,
        distances=distances,
        hugepages=_pools(reading, f"{folder}/hugepages"),
    )


def _whole_machine(reading: Reading, online: CpuSet) -> Numa:
    reading.doubt(FindingCode.NUMA_ABSENT, NODE, "no NUMA domains are told: the machine is taken as one, number 0")
    total, free = _memory(reading, MEMINFO)
    pools = _pools(reading, HUGEPAGES)
    return Numa(NumaId(0), NumaKind.CPU, online, memory_bytes=total, free_bytes=free, hugepages=pools)


def _memory(reading: Reading, path: str) -> tuple[int | None, int | None]:
    """MemTotal and MemFree in bytes; None where not told."""
    text = reading.text(path)
    if text is None:
        return None, None
    told = {key: int(value) * _KIB for key, value in _MEMORY_LINE.findall(text)}
    if "MemTotal" not in told:
        reading.doubt(FindingCode.FILE_BROKEN, path, "holds no line such as MemTotal: 123 kB")
    return told.get("MemTotal"), told.get("MemFree")


def _pools(reading: Reading, folder: str) -> tuple[HugepagePool, ...]:
    """The hugepage pools that tell their size, by rising page size."""
    pools = []
    for kib in reading.numbered(folder, "hugepages-", "kB"):
        total = reading.number(f"{folder}/hugepages-{kib}kB/nr_hugepages")
        free = reading.number(f"{folder}/hugepages-{kib}kB/free_hugepages")
        if total is not None and total >= 0 and kib > 0:
            pools.append(HugepagePool(kib * _KIB, total, total if free is None else min(max(free, 0), total)))
    return tuple(pools)


def _doubt_cpus(reading: Reading, numas: tuple[Numa, ...], online: CpuSet) -> None:
    homeless = online - union(numa.cpus for numa in numas)
    if homeless:
        reading.doubt(FindingCode.CPU_IN_NO_NUMA, NODE, f"CPUs {homeless} are online but in no NUMA domain")
    seen = CpuSet()
    for numa in numas:
        if twice := seen & numa.cpus:
            text = f"CPUs {twice} are listed by NUMA domain {numa.id} and by one before it"
            reading.doubt(FindingCode.CPU_IN_TWO_NUMAS, f"{NODE}/node{numa.id}", text)
        seen |= numa.cpus


def _doubt_memory(reading: Reading, numas: tuple[Numa, ...]) -> None:
    for numa in numas:
        if numa.memory_bytes is None:
            text = f"NUMA domain {numa.id} does not tell its memory"
            reading.doubt(FindingCode.MEMORY_ODD, f"{NODE}/node{numa.id}/meminfo", text)
    whole, _ = _memory(reading, MEMINFO)
    parts = [numa.memory_bytes for numa in numas]
    if not whole or None in parts:
        return
    total = sum(part for part in parts if part is not None)
    if abs(total - whole) > whole * MEMORY_TOLERANCE:
        text = f"the NUMA domains have {total >> 20} MiB together, the machine says {whole >> 20} MiB"
        reading.doubt(FindingCode.MEMORY_ODD, NODE, text)

"""The files of /sys/devices/system/node and /proc/meminfo of a described machine.

Only what discovery reads is written. Paths and formats: docs/sources.md.
"""

from collections.abc import Iterable

from numaplace.decide.discover.sources import MEMINFO, NODE
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NumaId
from numaplace.model.topology import Numa, NumaKind, Topology


def numa_files(machine: Topology) -> dict[str, str]:
    """Every NUMA domain's CPUs, memory, distances and hugepages, path to text."""
    ids = [numa.id for numa in machine.numas]
    files = {
        f"{NODE}/online": _id_list(ids),
        f"{NODE}/possible": _id_list(ids),
        f"{NODE}/has_cpu": _id_list(numa.id for numa in machine.numas if numa.cpus),
        f"{NODE}/has_memory": _id_list(numa.id for numa in machine.numas if numa.memory_bytes),
        f"{NODE}/has_generic_initiator": _id_list(n.id for n in machine.numas if n.kind is NumaKind.INITIATOR),
    }
    for numa in machine.numas:
        files |= _domain_files(numa, ids)
    total = sum(numa.memory_bytes or 0 for numa in machine.numas)
    if total:
        files[MEMINFO] = f"MemTotal: {total // 1024:>15} kB\n"
    return files


def _domain_files(numa: Numa, ids: list[NumaId]) -> dict[str, str]:
    folder = f"{NODE}/node{numa.id}"
    files = {f"{folder}/cpulist": f"{numa.cpus}\n"}
    if numa.memory_bytes is not None:
        files[f"{folder}/meminfo"] = _meminfo(numa, numa.memory_bytes)
    if all(other in numa.distances for other in ids):
        files[f"{folder}/distance"] = " ".join(str(numa.distances[other]) for other in ids) + "\n"
    for pool in numa.hugepages:
        pages = f"{folder}/hugepages/hugepages-{pool.page_bytes // 1024}kB"
        files[f"{pages}/nr_hugepages"] = f"{pool.total}\n"
        files[f"{pages}/free_hugepages"] = f"{pool.free}\n"
    return files


def _meminfo(numa: Numa, memory_bytes: int) -> str:
    rows = [("MemTotal", memory_bytes)]
    if numa.free_bytes is not None:
        rows += [("MemFree", numa.free_bytes), ("MemUsed", memory_bytes - numa.free_bytes)]
    return "".join(f"Node {numa.id} {name + ':':<15} {value // 1024:>12} kB\n" for name, value in rows)


def _id_list(ids: Iterable[int]) -> str:
    return f"{CpuSet.of(ids)}\n"  # the kernel writes ids of domains in the format of CPU lists

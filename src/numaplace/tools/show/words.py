"""Parts of a machine in few words, the same in tree, table and picture."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import AMD_VENDOR, INTEL_VENDOR, NVIDIA_VENDOR, Gpu, Hca, Port
from numaplace.model.topology import Numa, NumaKind, Topology
from numaplace.tools.report.words import counted

_STEPS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))

KIND_WORDS = {
    NumaKind.CPU: "CPUs and memory",
    NumaKind.MEMORY: "memory only",
    NumaKind.DEVICE_MEMORY: "memory of a device",
    NumaKind.CPU_WITHOUT_MEMORY: "CPUs without memory",
    NumaKind.INITIATOR: "neither CPU nor memory",
}


_VENDORS = {
    NVIDIA_VENDOR: "NVIDIA",
    AMD_VENDOR: "AMD",
    INTEL_VENDOR: "Intel",
    "19e5": "Huawei",
    "1d22": "Baidu",
    "1e36": "Enflame",
}


def model_text(gpu: Gpu) -> str:
    """The model, or at least who made it."""
    return gpu.model or f"{_VENDORS.get(gpu.vendor, f'vendor {gpu.vendor}')} GPU"


def bytes_text(count: int) -> str:
    """`2 TiB`, `503.5 GiB`; whole where it is whole."""
    for unit, size in _STEPS:
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} B"


def memory_text(numa: Numa) -> str:
    """How much memory a domain has, and how much of it is free where that is told."""
    if numa.memory_bytes is None:
        return "memory unknown"
    if not numa.memory_bytes:
        return "no memory"
    free = "" if numa.free_bytes in (None, numa.memory_bytes) else f" ({bytes_text(numa.free_bytes or 0)} free)"
    return bytes_text(numa.memory_bytes) + free


def holds_text(topology: Topology, numa: Numa) -> str:
    """What a domain without CPUs is for: the GPUs whose memory it is, else its kind."""
    owners = [f"GPU {number}" for number, gpu in enumerate(topology.gpus) if gpu.memory_numa == numa.id]
    return f"memory of {', '.join(owners)}" if owners else KIND_WORDS[numa.kind]


def pages_text(numa: Numa) -> str:
    """`1024 × 2 MiB (512 free)` of each pool that has pages."""
    pools = (pool for pool in numa.hugepages if pool.total)
    return ", ".join(
        f"{pool.total} × {bytes_text(pool.page_bytes)}" + ("" if pool.free == pool.total else f" ({pool.free} free)")
        for pool in pools
    )


def cores_text(topology: Topology, cpus: CpuSet) -> str:
    """`24 cores × 2 threads`, for the cores that lie in `cpus`."""
    cores = [core for core in topology.cores if core.issubset(cpus) and core]
    by_threads = [(threads, len(list(some))) for threads, some in groupby(sorted(map(len, cores), reverse=True))]
    words = (counted(count, "core") + (f" × {threads} threads" if threads > 1 else "") for threads, count in by_threads)
    return " + ".join(words)


def port_text(port: Port) -> str:
    """`InfiniBand 400 Gb/s`, or what keeps the port from being used."""
    speed = "" if port.link_gbps is None else f"{port.link_gbps:g} Gb/s"
    words = " ".join(filter(None, (port.link_layer, speed)))
    return words or "active" if port.active else f"{words} down".strip()


def ports_text(ports: Sequence[Port]) -> str:
    """All ports, numbered where there is more than one."""
    if len(ports) == 1:
        return port_text(ports[0])
    return ", ".join(f"port {port.number} {port_text(port)}" for port in ports) or "no port"


def health_text(device: Gpu | Hca) -> str:
    """What keeps a device from being given out whole; empty if nothing does."""
    mig = "in MIG mode" if isinstance(device, Gpu) and device.mig else ""
    return ", ".join(filter(None, (device.fault, mig)))


def ids_text(ids: Iterable[int]) -> str:
    """Ids of domains as ranges."""
    return str(CpuSet.of(ids))


def machine_text(topology: Topology) -> str:
    """The whole machine in one line."""
    memory = sum(n.memory_bytes or 0 for n in topology.numas if n.kind is not NumaKind.DEVICE_MEMORY)
    parts = [
        counted(len(topology.online), "CPU"),
        counted(len(topology.packages), "package"),
        counted(len(topology.numas), "NUMA domain"),
        bytes_text(memory) if memory else "memory unknown",
        counted(len(topology.gpus), "GPU"),
        counted(len(topology.hcas), "HCA"),
    ]
    return ", ".join(parts)


def links_text(topology: Topology) -> str:
    """The NVLinks in one line where every two GPUs have as many; else how many pairs have some."""
    links = topology.nvlinks
    if not links:
        return ""
    if are_linked_alike(topology):
        return f"{links_name(topology)}: every two GPUs have {counted(links[0].count, 'link')}"
    pairs = _pairs(topology)
    return f"{links_name(topology)}: {len(links)} of {pairs} pairs of GPUs have links, see -o matrix"


def are_linked_alike(topology: Topology) -> bool:
    """Whether every two GPUs have links, all as many."""
    return len(topology.nvlinks) == _pairs(topology) and len({link.count for link in topology.nvlinks}) == 1


def _pairs(topology: Topology) -> int:
    return len(topology.gpus) * (len(topology.gpus) - 1) // 2


def links_name(topology: Topology) -> str:
    """What the maker of the GPUs calls the links between them."""
    return "xGMI" if {gpu.vendor for gpu in topology.gpus} == {AMD_VENDOR} else "NVLink"

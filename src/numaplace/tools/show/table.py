"""One row for each NUMA domain and one for each device, for eyes and for grep."""

from collections.abc import Iterable, Sequence

from numaplace.model.devices import Gpu, Hca
from numaplace.model.ids import NumaId
from numaplace.model.proximity import level_between
from numaplace.model.topology import Numa, Topology
from numaplace.tools.report.grid import grid
from numaplace.tools.show import words

NOTHING, UNKNOWN = "-", "?"


def table_text(topology: Topology) -> str:
    """Both tables; the second only where there are devices."""
    numas = grid(
        ["NUMA", "KIND", "PACKAGE", "CPUS", "CORES", "MEMORY", "HUGEPAGES", "GPUS", "HCAS"],
        [_numa(topology, numa) for numa in topology.numas],
    )
    devices = [*(_gpu(topology, gpu, at) for at, gpu in enumerate(topology.gpus)), *map(_hca, topology.hcas)]
    lines = (
        [*numas, "", *grid(["DEVICE", "PCI", "NUMA", "WHAT", "NEAREST HCA", "HEALTH"], devices)] if devices else numas
    )
    return "\n".join(lines) + "\n"


def _numa(topology: Topology, numa: Numa) -> list[str]:
    package = topology.package_of_numa(numa.id)
    return [
        str(numa.id),
        numa.kind.value,
        NOTHING if package is None else str(package),
        str(numa.cpus) or NOTHING,
        words.cores_text(topology, numa.cpus) or NOTHING,
        UNKNOWN if numa.memory_bytes is None else words.memory_text(numa),
        words.pages_text(numa) or NOTHING,
        str(_count(topology.gpus, numa.id)),
        str(_count(topology.hcas, numa.id)),
    ]


def _gpu(topology: Topology, gpu: Gpu, number: int) -> list[str]:
    nearest = NOTHING
    if topology.hcas:
        levels = [(level_between(topology, gpu, hca), hca.name) for hca in topology.hcas]
        least = min(level for level, _ in levels)
        nearest = f"{least.name} {' '.join(name for level, name in levels if level == least)}"
    health = words.health_text(gpu) or "ok"
    return [f"GPU{number}", gpu.pci, _home(gpu), words.model_text(gpu), nearest, health]


def _hca(hca: Hca) -> list[str]:
    return [
        hca.name,
        hca.pci or NOTHING,
        _home(hca),
        words.ports_text(hca.ports),
        NOTHING,
        words.health_text(hca) or "ok",
    ]


def _home(device: Gpu | Hca) -> str:
    return UNKNOWN if device.numa is None else str(device.numa)


def _count(devices: Sequence[Gpu] | Iterable[Hca], numa: NumaId) -> int:
    return sum(device.numa == numa for device in devices)

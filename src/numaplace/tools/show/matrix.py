"""Which device is how near to which, like `nvidia-smi topo -m`, HCAs and distances of domains included."""

from collections.abc import Sequence

from numaplace.model.devices import Gpu, Hca
from numaplace.model.proximity import Level, level_between
from numaplace.model.topology import Topology
from numaplace.tools.report.grid import grid
from numaplace.tools.show.words import model_text

UNKNOWN = "?"

LEGEND = {
    "X": "itself",
    "NV#": "NVLink or xGMI, # links",
    "PIX": "at most one PCIe switch",
    "PXB": "several PCIe switches, no host bridge",
    "PHB": "one host bridge",
    "NODE": "several host bridges of one NUMA domain",
    "SOCKET": "NUMA domains of one package",
    "SYS": "the link between packages, or nothing is known",
}


def matrix_text(topology: Topology) -> str:
    """The matrix of GPUs and HCAs with their CPUs and domains, the distances of domains, a legend."""
    parts = [_devices(topology), _distances(topology)]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _devices(topology: Topology) -> list[str]:
    devices: list[Gpu | Hca] = [*topology.gpus, *topology.hcas]
    if not devices:
        return ["This machine has no GPU and no HCA."]
    names = [f"GPU{number}" for number in range(len(topology.gpus))] + [hca.name for hca in topology.hcas]
    links: dict[frozenset[str | None], int] = {frozenset((k.a, k.b)): k.count for k in topology.nvlinks}

    def cell(a: Gpu | Hca, b: Gpu | Hca) -> str:
        if a is b:
            return "X"
        level = level_between(topology, a, b)
        return f"NV{links[frozenset((a.pci, b.pci))]}" if level is Level.NV else level.name

    rows = [
        [name, *(cell(device, other) for other in devices), *_affinity(topology, device)]
        for name, device in zip(names, devices, strict=True)
    ]
    head = ["", *names, "CPU affinity", "NUMA affinity"]
    return [*grid(head, rows), "", *_cards(topology), "", *_legend(rows)]


def _affinity(topology: Topology, device: Gpu | Hca) -> tuple[str, str]:
    if device.numa is None:
        return UNKNOWN, UNKNOWN
    return str(topology.numa(device.numa).cpus) or "-", str(device.numa)


def _cards(topology: Topology) -> list[str]:
    """Which card each name is."""
    gpus = [[f"GPU{number}", gpu.pci, model_text(gpu)] for number, gpu in enumerate(topology.gpus)]
    hcas = [[hca.name, hca.pci or UNKNOWN, ""] for hca in topology.hcas]
    return grid((), [*gpus, *hcas])


def _legend(rows: Sequence[Sequence[str]]) -> list[str]:
    """The words that occur, nearest first."""
    said = {"NV#" if cell.startswith("NV") else cell for row in rows for cell in row[1:]}
    words = [(word, meaning) for word, meaning in LEGEND.items() if word in said]
    return grid((), words)


def _distances(topology: Topology) -> list[str]:
    if len(topology.numas) < 2:
        return []
    ids = [numa.id for numa in topology.numas]
    told = [[str(numa.distances.get(id, UNKNOWN)) for id in ids] for numa in topology.numas]
    rows = [[f"NUMA {id}", *row] for id, row in zip(ids, told, strict=True)]
    right = frozenset(range(1, len(ids) + 1))
    return ["Distances between NUMA domains (10 = local):", *grid(["", *map(str, ids)], rows, right=right)]

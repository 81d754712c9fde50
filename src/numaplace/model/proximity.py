"""How far two devices are apart, in the words of `nvidia-smi topo` and NCCL.

One scale for GPU–GPU and GPU–HCA. The number of a level is its cost in the
placement key, so the order of the members is meant.
"""

from enum import IntEnum

from numaplace.model.devices import BridgePath, Gpu, Hca
from numaplace.model.ids import NumaId
from numaplace.model.topology import Topology


class Level(IntEnum):
    """What a transfer between two devices crosses, nearest first."""

    NV = 0  # NVLink or xGMI
    PIX = 1  # at most one PCIe switch
    PXB = 2  # several PCIe switches, no host bridge
    PHB = 3  # a PCIe host bridge
    NODE = 4  # several host bridges of one NUMA domain
    SOCKET = 5  # NUMA domains of one package
    SYS = 6  # the link between packages; also taken where nothing is known


def pci_level(a: BridgePath, b: BridgePath) -> Level | None:
    """The level that two bridge paths alone prove; None if they share no host bridge.

    Devices on one bus, or under two downstream ports of one switch, are PIX. In
    sysfs a switch is two bridges deep (upstream and downstream port).
    """
    shared = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        shared += 1
    if shared == 0:
        return None
    if shared == 1:
        return Level.PHB
    return Level.PIX if max(len(a), len(b)) - shared <= 1 else Level.PXB


def numa_level(topology: Topology, a: NumaId | None, b: NumaId | None) -> Level:
    """The level that two NUMA ids alone prove: NODE, SOCKET or SYS (also for unknown)."""
    if a is None or b is None:
        return Level.SYS
    if a == b:
        return Level.NODE
    package = topology.package_of_numa(a)
    return Level.SOCKET if package is not None and package == topology.package_of_numa(b) else Level.SYS


def level_between(topology: Topology, a: Gpu | Hca, b: Gpu | Hca) -> Level:
    """How far two devices of one machine are apart; a link between GPUs beats every PCI path."""
    if isinstance(a, Gpu) and isinstance(b, Gpu):
        pair = {a.pci, b.pci}
        if any({link.a, link.b} == pair for link in topology.nvlinks):
            return Level.NV
    by_path = pci_level(a.path, b.path)
    return by_path if by_path is not None else numa_level(topology, a.numa, b.numa)

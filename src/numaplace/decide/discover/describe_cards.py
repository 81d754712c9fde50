"""The parts of a described machine's PCI tree: host bridges, switches, cards.

What a description does not tell about a card is given to it by `describe_wiring`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from numaplace.model.devices import INTEL_VENDOR, MELLANOX_VENDOR, NVIDIA_VENDOR, Port
from numaplace.model.ids import GpuUuid, HcaName, NumaId, PciAddress

ACTIVE_PORT = Port(1, active=True, link_layer="InfiniBand", link_gbps=400)


@dataclass(frozen=True, slots=True)
class GpuCard:
    """A GPU; an empty field is not told."""

    address: PciAddress | None = None
    vendor: str = NVIDIA_VENDOR
    model: str = ""
    uuid: GpuUuid | None = None
    memory_numa: NumaId | None = None
    mig: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Rdma:
    """One RDMA device; None = a name is found for it."""

    name: HcaName | None = None
    ports: tuple[Port, ...] = (ACTIVE_PORT,)


@dataclass(frozen=True, slots=True)
class HcaCard:
    """A PCI function with RDMA devices: one, or as some drivers do it, one for each port."""

    address: PciAddress | None = None
    vendor: str = MELLANOX_VENDOR
    devices: tuple[Rdma, ...] = (Rdma(),)
    fault: str = ""


@dataclass(frozen=True, slots=True)
class NetworkCard:
    """A network card that does no RDMA."""

    address: PciAddress | None = None
    vendor: str = INTEL_VENDOR


Card = GpuCard | HcaCard | NetworkCard


@dataclass(frozen=True, slots=True)
class Switch:
    """A PCIe switch: an upstream port, and a downstream port for each thing below it."""

    below: tuple["Card | Switch", ...]
    address: PciAddress | None = None  # of the upstream port


@dataclass(frozen=True, slots=True)
class HostBridge:
    """A host bridge with a root port for each thing below it."""

    numa: NumaId | None  # what every function below says of itself
    below: tuple[Card | Switch, ...]
    flat: bool = False  # cards sit on the root bus itself, as in many virtual machines


def addresses_in(below: Sequence[Card | Switch]) -> Iterator[PciAddress]:
    """Every address that the description names below a bridge."""
    for thing in below:
        if thing.address is not None:
            yield thing.address
        if isinstance(thing, Switch):
            yield from addresses_in(thing.below)


def names_in(below: Sequence[Card | Switch]) -> Iterator[HcaName]:
    """Every RDMA name that the description gives below a bridge."""
    for thing in below:
        if isinstance(thing, Switch):
            yield from names_in(thing.below)
        elif isinstance(thing, HcaCard):
            yield from (device.name for device in thing.devices if device.name is not None)

"""PCI devices, GPUs and RDMA HCAs of a machine, and the links between GPUs.

A device is known by its PCI address (and UUID or name), never by an index. `numa`
is None when nobody knows it, which is not the same as domain 0.
"""

from dataclasses import dataclass

from numaplace.model.ids import GpuUuid, HcaName, NumaId, PciAddress

# PCI vendors of the cards that numaplace treats in a way of their own.
NVIDIA_VENDOR, AMD_VENDOR, INTEL_VENDOR, MELLANOX_VENDOR, AMAZON_VENDOR = "10de", "1002", "8086", "15b3", "1d0f"

BridgePath = tuple[str, ...]
"""Host bridge first ("pci0000:3a"), then each bridge's PCI address down to the parent; empty = not known."""


@dataclass(frozen=True, slots=True)
class PciDevice:
    """One PCI function."""

    address: PciAddress
    class_code: int  # 24 bits: base class, subclass, programming interface (0x030200 = 3D controller)
    vendor: str  # four lower-case hex digits
    device: str
    numa: NumaId | None
    path: BridgePath = ()
    driver: str = ""
    physical: PciAddress | None = None  # the physical function, on an SR-IOV virtual function


@dataclass(frozen=True, slots=True)
class Gpu:
    """A whole accelerator card."""

    pci: PciAddress
    numa: NumaId | None
    vendor: str  # PCI vendor, four lower-case hex digits (10de = NVIDIA)
    uuid: GpuUuid | None = None
    model: str = ""
    path: BridgePath = ()
    memory_numa: NumaId | None = None  # the domain that is this card's own memory (Grace Hopper, POWER9)
    mig: bool = False  # split into instances, so not to be had as a whole card
    fault: str = ""  # why it must not be used; empty = healthy


@dataclass(frozen=True, slots=True)
class Port:
    """One port of an HCA."""

    number: int
    active: bool
    link_layer: str  # "InfiniBand", "Ethernet" or "" where not told
    link_gbps: float | None = None


@dataclass(frozen=True, slots=True)
class Hca:
    """An RDMA device."""

    name: HcaName
    pci: PciAddress | None  # None for devices without one (soft-RoCE)
    numa: NumaId | None
    ports: tuple[Port, ...] = ()
    vendor: str = ""
    path: BridgePath = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class NvLink:
    """`count` direct links between two GPUs, `a` < `b`; through NVSwitch every pair has them."""

    a: PciAddress
    b: PciAddress
    count: int

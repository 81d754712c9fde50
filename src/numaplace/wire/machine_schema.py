"""The fields of the YAML form of a described machine, as msgspec structs.

Names, kinds and defaults only; `machine_facts` gives them their meaning and
docs/reference/machine-description.md explains them to people.
"""

from __future__ import annotations

import msgspec

from numaplace.model.devices import INTEL_VENDOR, MELLANOX_VENDOR, NVIDIA_VENDOR


class Strict(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """A mapping that has exactly these fields; `memory_numa` is written `memory-numa`."""


class GpuFields(Strict):
    """One GPU."""

    pci: str | None = None
    vendor: str = NVIDIA_VENDOR
    model: str = ""
    uuid: str | None = None
    memory_numa: int | None = None
    mig: bool = False
    fault: str = ""


class PortFields(Strict):
    """One port of an HCA."""

    number: int = 1
    active: bool = True
    link_layer: str = "InfiniBand"
    gbps: float | None = 400


class HcaFields(Strict):
    """One HCA."""

    name: str | None = None
    pci: str | None = None
    vendor: str = MELLANOX_VENDOR
    ports: list[PortFields] = msgspec.field(default_factory=lambda: [PortFields()])
    fault: str = ""


class NetworkFields(Strict):
    """One network card without RDMA."""

    pci: str | None = None
    vendor: str = INTEL_VENDOR


class BranchFields(Strict):
    """What hangs below a switch, a host bridge or a NUMA domain: counts, or lists of cards."""

    gpus: int | list[GpuFields] = 0
    hcas: int | list[HcaFields] = 0
    nics: int | list[NetworkFields] = 0
    switches: list[SwitchFields] = []


class SwitchFields(BranchFields):
    """One PCIe switch; `pci` is the address of its upstream port."""

    pci: str | None = None


class BridgeFields(BranchFields):
    """One host bridge; `flat` puts cards on its own bus, without root ports."""

    flat: bool = False


class HolderFields(BranchFields):
    """Devices of one NUMA domain, or of none that is known; what stands here has a host bridge each."""

    bridges: list[BridgeFields] = []


class NumaFields(HolderFields, kw_only=True):
    """One NUMA domain, or several alike where `id` is a range."""

    id: int | str
    cpus: int | str | None = None
    package: int | None = None
    memory: str | None = None
    hugepages: dict[str, int] | None = None


class DistanceFields(Strict):
    """Distances by kind of pair; `to_memory` is for pairs with a domain without CPUs."""

    same_package: int = 12
    other_package: int = 21
    to_memory: int | None = None


class LinkFields(Strict):
    """NVLinks between every two of these GPUs, by their position in order of PCI addresses."""

    gpus: list[int]
    links: int


class MachineFields(Strict):
    """A described machine."""

    like: str | None = None
    note: str = ""
    smt: int = 1
    numas: list[NumaFields] = []
    unknown: HolderFields | None = None
    distances: DistanceFields | list[list[int]] | None = None
    cores: list[str] | None = None
    llcs: list[str] | None = None
    gpu_model: str = ""
    nvlinks: int | list[LinkFields] | None = None
    offline: int | str = ""
    faults: dict[str, str] = {}
    mig: list[str] = []
    files: dict[str, str] = {}

"""Allocation: the exact CPUs, GPUs and HCAs one Pod gets on one node.

Chosen by `decide/place`, kept by the ledger, carried by the annotation
`numaplace.dev/allocation`, obeyed by the agent and the device plugins.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numaplace.model.cpuset import CpuSet, union
from numaplace.model.ids import ContainerName, GpuUuid, HcaName, NodeName, NumaId, PciAddress
from numaplace.model.proximity import Level
from numaplace.model.request import Hugepages, Policy


@dataclass(frozen=True, slots=True, order=True)
class GpuRef:
    """One chosen GPU, by address and, where known, UUID."""

    pci: PciAddress
    uuid: GpuUuid | None = None


@dataclass(frozen=True, slots=True, order=True)
class HcaRef:
    """One chosen HCA, by name and, where it has one, address."""

    name: HcaName
    pci: PciAddress | None = None


@dataclass(frozen=True, slots=True)
class ContainerShare:
    """What one container gets; empty `cpus` means the shared CPUs of the Pod's numas or node."""

    cpus: CpuSet = CpuSet()
    gpus: tuple[GpuRef, ...] = ()  # by PCI address
    hcas: tuple[HcaRef, ...] = ()  # by name


@dataclass(frozen=True, slots=True)
class NumaCharge:
    """What the Pod charges to one numa besides exclusive CPUs and devices."""

    numa: NumaId
    shared_cpu_milli: int = 0
    memory_bytes: int = 0
    hugepages: tuple[Hugepages, ...] = ()


@dataclass(frozen=True, slots=True)
class Allocation:
    """The whole decision for one Pod on one node."""

    node: NodeName
    numas: tuple[NumaId, ...]  # rising; those of the candidate, whether each is used or not
    policy: Policy
    width: int  # numas (or packages, by the node's align level) reached; BestEffort's fallback: their number + 1
    containers: Mapping[ContainerName, ContainerShare]
    charges: tuple[NumaCharge, ...] = ()  # by numa, zero charges left out
    gpu_hca: Level | None = None  # the farthest GPU of the Pod from its nearest HCA; None without both
    binds_memory: bool = False  # cpuset.mems = numas
    planned_s: float | None = field(default=None, compare=False)  # when, in seconds since 1970; for replays

    @property
    def cpus(self) -> CpuSet:
        """All exclusive CPUs of the Pod."""
        return union(share.cpus for share in self.containers.values())

    @property
    def gpus(self) -> tuple[GpuRef, ...]:
        """All GPUs of the Pod, each once, by PCI address."""
        return tuple(sorted({gpu for share in self.containers.values() for gpu in share.gpus}))

    @property
    def hcas(self) -> tuple[HcaRef, ...]:
        """All HCAs of the Pod, each once, by name."""
        return tuple(sorted({hca for share in self.containers.values() for hca in share.hcas}))

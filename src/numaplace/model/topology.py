"""Topology: what a machine is made of, as the kernel tells it, lies named apart.

`decide/discover` builds it from a sysfs tree; everything else only reads it. Sets
are tuples in rising order, so equal machines compare and encode equal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import Gpu, Hca, NvLink, PciDevice
from numaplace.model.ids import NumaId, PackageId

LOCAL_DISTANCE = 10  # ACPI SLIT: the distance of a domain to itself
SAME_PACKAGE_DISTANCE = 20  # taken where the SLIT says nothing: inside one package ...
OTHER_PACKAGE_DISTANCE = 32  # ... and between packages


class NumaKind(StrEnum):
    """What a NUMA domain holds; only `CPU` and `CPU_WITHOUT_MEMORY` can be placeable."""

    CPU = "cpu"
    MEMORY = "memory"  # memory but no CPU: CXL, HBM, persistent memory
    DEVICE_MEMORY = "device-memory"  # a GPU's own memory shown as a domain
    CPU_WITHOUT_MEMORY = "cpu-without-memory"
    INITIATOR = "initiator"  # neither CPU nor memory: a generic initiator


@dataclass(frozen=True, slots=True)
class HugepagePool:
    """Hugepages of one size in one NUMA domain, in pages."""

    page_bytes: int
    total: int
    free: int


@dataclass(frozen=True, slots=True)
class Numa:
    """One NUMA domain."""

    id: NumaId
    kind: NumaKind
    cpus: CpuSet  # online CPUs, as the kernel lists them; may overlap on machines whose firmware is wrong
    memory_bytes: int | None  # MemTotal of this domain, hugepages included; None = not told
    free_bytes: int | None = None  # MemFree at the time of reading
    distances: Mapping[NumaId, int] = field(default_factory=lambda: MappingProxyType({}))  # ACPI SLIT, 10 = local
    hugepages: tuple[HugepagePool, ...] = ()


@dataclass(frozen=True, slots=True)
class Package:
    """The chip in one socket."""

    id: PackageId
    cpus: CpuSet


@dataclass(frozen=True, slots=True)
class Die:
    """A die inside a package (CPU firmware that tells dies apart)."""

    id: int  # unique inside its package only
    package: PackageId
    cpus: CpuSet


@dataclass(frozen=True, slots=True)
class Llc:
    """CPUs that share one last-level cache."""

    level: int
    cpus: CpuSet
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CoreKind:
    """One class of cores of a hybrid CPU, such as cpu_core and cpu_atom."""

    name: str
    cpus: CpuSet


@dataclass(frozen=True, slots=True)
class Topology:
    """A machine: NUMA domains, processors, caches, PCI devices and how they connect."""

    online: CpuSet
    numas: tuple[Numa, ...]  # by rising id
    packages: tuple[Package, ...] = ()
    dies: tuple[Die, ...] = ()
    cores: tuple[CpuSet, ...] = ()  # one set of SMT siblings a physical core, by lowest CPU
    llcs: tuple[Llc, ...] = ()  # by lowest CPU; not nested with numas in either direction
    core_kinds: tuple[CoreKind, ...] = ()  # empty unless the CPU is hybrid; fastest first
    pci: tuple[PciDevice, ...] = ()  # every PCI function, by address
    gpus: tuple[Gpu, ...] = ()  # by PCI address
    hcas: tuple[Hca, ...] = ()  # by name
    nvlinks: tuple[NvLink, ...] = ()

    def numa(self, id: NumaId) -> Numa:
        """The domain with this id; KeyError if the machine has none."""
        for numa in self.numas:
            if numa.id == id:
                return numa
        raise KeyError(id)

    def package_of_numa(self, id: NumaId) -> PackageId | None:
        """The package that holds the domain's first CPU; None for domains without CPUs, or not there."""
        cpus = next((numa.cpus for numa in self.numas if numa.id == id), None)
        for package in self.packages:
            if cpus and cpus.first() in package.cpus:
                return package.id
        return None

    def distance(self, a: NumaId, b: NumaId) -> int:
        """max(SLIT[a][b], SLIT[b][a]); where the SLIT is silent 20 inside a package, else 32."""
        if a == b:
            return LOCAL_DISTANCE
        told = [d for d in (self.numa(a).distances.get(b), self.numa(b).distances.get(a)) if d is not None]
        if told:
            return max(told)
        package = self.package_of_numa(a)
        same = package is not None and package == self.package_of_numa(b)
        return SAME_PACKAGE_DISTANCE if same else OTHER_PACKAGE_DISTANCE

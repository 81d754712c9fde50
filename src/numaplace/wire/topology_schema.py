"""The fields of the topology document, version 1, as msgspec structs.

Names, kinds and order only; docs/reference/topology-json.md explains them. A field is
never renamed or given another meaning: that would be version 2.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Natural = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
Number = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    """An object that has these fields and no others."""


class PoolFields(Strict):
    """Hugepages of one size, in pages."""

    page_bytes: Natural
    total: Natural
    free: Natural


class NumaFields(Strict):
    """One NUMA domain."""

    id: Number
    kind: str
    cpus: str
    memory_bytes: Natural | None
    distances: dict[str, Natural]
    free_bytes: Natural | None = None
    hugepages: list[PoolFields] = []


class PackageFields(Strict):
    """The chip in one socket."""

    id: Number
    cpus: str


class DieFields(Strict):
    """A die; its id is unique inside its package only."""

    id: Number
    package: Number
    cpus: str


class LlcFields(Strict):
    """CPUs that share one last-level cache."""

    level: Number
    cpus: str
    size_bytes: Natural | None = None


class CoreKindFields(Strict):
    """One class of cores of a hybrid CPU."""

    name: str
    cpus: str


class FunctionFields(Strict):
    """One PCI function."""

    pci: str
    class_code: str  # six hex digits
    vendor: str
    device: str
    numa: Number | None
    path: list[str] = []
    driver: str = ""
    physical: str | None = None


class GpuFields(Strict):
    """One accelerator card."""

    pci: str
    numa: Number | None
    vendor: str
    uuid: str | None
    model: str = ""
    path: list[str] = []
    memory_numa: Number | None = None
    mig: bool = False
    fault: str = ""


class PortFields(Strict):
    """One port of an HCA."""

    number: Number
    active: bool
    link_layer: str = ""
    link_gbps: float | None = None


class HcaFields(Strict):
    """One RDMA device."""

    name: str
    pci: str | None
    numa: Number | None
    ports: list[PortFields] = []
    vendor: str = ""
    path: list[str] = []
    fault: str = ""


class LinkFields(Strict):
    """Direct links between two GPUs, by PCI address."""

    a: str
    b: str
    count: Natural


class FindingFields(Strict):
    """One doubt of discovery."""

    code: str
    where: str
    text: str


class Document(Strict):
    """The whole document."""

    v: int
    online: str
    numas: list[NumaFields]
    packages: list[PackageFields] = []
    cores: list[str] = []
    llcs: list[LlcFields] = []
    gpus: list[GpuFields] = []
    hcas: list[HcaFields] = []
    findings: list[FindingFields] = []
    dies: list[DieFields] = []
    core_kinds: list[CoreKindFields] = []
    nvlinks: list[LinkFields] = []
    pci: list[FunctionFields] = []
    hash: str | None = None

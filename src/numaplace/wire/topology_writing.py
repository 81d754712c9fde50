"""The topology document from the nouns: every set as a range text, everything in the nouns' order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numaplace.model.devices import Gpu, Hca, PciDevice
from numaplace.model.finding import Finding
from numaplace.model.topology import Numa, Topology
from numaplace.wire import topology_schema as schema


def document_of(topology: Topology, findings: Sequence[Finding], version: int) -> schema.Document:
    """The document without its hash."""
    parts: dict[str, Any] = {name: [write(one) for one in getattr(topology, name)] for name, write in ITEMS.items()}
    return schema.Document(
        v=version,
        online=str(topology.online),
        findings=[schema.FindingFields(finding.code.value, finding.where, finding.text) for finding in findings],
        **parts,
    )


def _numa(numa: Numa) -> schema.NumaFields:
    return schema.NumaFields(
        id=numa.id,
        kind=numa.kind.value,
        cpus=str(numa.cpus),
        memory_bytes=numa.memory_bytes,
        free_bytes=numa.free_bytes,
        distances={str(other): distance for other, distance in sorted(numa.distances.items())},
        hugepages=[schema.PoolFields(pool.page_bytes, pool.total, pool.free) for pool in numa.hugepages],
    )


def _function(function: PciDevice) -> schema.FunctionFields:
    return schema.FunctionFields(
        pci=function.address,
        class_code=f"{function.class_code:06x}",
        vendor=function.vendor,
        device=function.device,
        numa=function.numa,
        path=list(function.path),
        driver=function.driver,
        physical=function.physical,
    )


def _gpu(gpu: Gpu) -> schema.GpuFields:
    return schema.GpuFields(
        pci=gpu.pci,
        numa=gpu.numa,
        vendor=gpu.vendor,
        uuid=gpu.uuid,
        model=gpu.model,
        path=list(gpu.path),
        memory_numa=gpu.memory_numa,
        mig=gpu.mig,
        fault=gpu.fault,
    )


def _hca(hca: Hca) -> schema.HcaFields:
    return schema.HcaFields(
        name=hca.name,
        pci=hca.pci,
        numa=hca.numa,
        ports=[schema.PortFields(p.number, p.active, p.link_layer, p.link_gbps) for p in hca.ports],
        vendor=hca.vendor,
        path=list(hca.path),
        fault=hca.fault,
    )


# Every list of the document but `findings`: how one of its nouns is written.
ITEMS: Mapping[str, Callable[[Any], Any]] = {
    "numas": _numa,
    "packages": lambda package: schema.PackageFields(package.id, str(package.cpus)),
    "cores": str,
    "llcs": lambda llc: schema.LlcFields(llc.level, str(llc.cpus), llc.size_bytes),
    "gpus": _gpu,
    "hcas": _hca,
    "dies": lambda die: schema.DieFields(die.id, die.package, str(die.cpus)),
    "core_kinds": lambda kind: schema.CoreKindFields(kind.name, str(kind.cpus)),
    "nvlinks": lambda link: schema.LinkFields(link.a, link.b, link.count),
    "pci": _function,
}

"""The nouns from a topology document: every text parsed, every reference checked.

InputError names the field inside the document, like `numas[2].cpus`.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import Gpu, Hca, NvLink, PciDevice, Port
from numaplace.model.errors import InputError, located
from numaplace.model.finding import Finding, FindingCode
from numaplace.model.ids import GpuUuid, HcaName, NumaId, PackageId, PciAddress, parse_pci_address
from numaplace.model.topology import CoreKind, Die, HugepagePool, Llc, Numa, NumaKind, Package, Topology
from numaplace.wire import topology_schema as schema
from numaplace.wire.strict import shown

T = TypeVar("T")
R = TypeVar("R")
Domains = frozenset[NumaId]

_CLASS = re.compile(r"[0-9a-f]{6}")


def topology_of(document: schema.Document) -> Topology:
    """The machine that the document describes."""
    numas = numas_of(document.numas)
    domains = frozenset(numa.id for numa in numas)
    parts = {name: read(getattr(document, name), domains) for name, read in PARTS.items()}
    return Topology(online=_cpus("online", document.online), numas=numas, **parts)


def numas_of(listed: Iterable[schema.NumaFields]) -> tuple[Numa, ...]:
    """The domains, by rising id."""
    numas = _each("numas", listed, _numa)
    _refuse_twice("numas", [numa.id for numa in numas])
    return tuple(sorted(numas, key=lambda numa: numa.id))


def findings_of(listed: Iterable[schema.FindingFields]) -> tuple[Finding, ...]:
    """The findings that the document lists."""
    return _each("findings", listed, _finding)


def _numa(at: str, fields: schema.NumaFields) -> Numa:
    kinds = {kind.value: kind for kind in NumaKind}
    if fields.kind not in kinds:
        raise InputError(f"{at}.kind", found=shown(fields.kind), wanted=f"one of {' '.join(kinds)}")
    return Numa(
        id=NumaId(fields.id),
        kind=kinds[fields.kind],
        cpus=_cpus(f"{at}.cpus", fields.cpus),
        memory_bytes=fields.memory_bytes,
        free_bytes=fields.free_bytes,
        distances=_distances(f"{at}.distances", fields.distances),
        hugepages=_each(f"{at}.hugepages", fields.hugepages, _pool),
    )


def _distances(at: str, distances: Mapping[str, int]) -> Mapping[NumaId, int]:
    for key in distances:
        if not re.fullmatch(r"0|[1-9][0-9]{0,5}", key):
            raise InputError(at, found=f"the key {shown(key)}", wanted="ids of domains as keys")
    ordered = sorted((int(key), distance) for key, distance in distances.items())
    return MappingProxyType({NumaId(key): distance for key, distance in ordered})


def _pool(at: str, fields: schema.PoolFields) -> HugepagePool:
    if fields.page_bytes == 0 or fields.free > fields.total:
        found = f"{fields.free} of {fields.total} pages of {fields.page_bytes} bytes free"
        raise InputError(at, found=found, wanted="no more free than there are")
    return HugepagePool(fields.page_bytes, fields.total, fields.free)


def _function(at: str, fields: schema.FunctionFields, domains: Domains) -> PciDevice:
    if _CLASS.fullmatch(fields.class_code) is None:
        raise InputError(f"{at}.class_code", found=shown(fields.class_code), wanted="six hex digits, like 030200")
    return PciDevice(
        address=_address(f"{at}.pci", fields.pci),
        class_code=int(fields.class_code, 16),
        vendor=fields.vendor,
        device=fields.device,
        numa=_domain(f"{at}.numa", fields.numa, domains),
        path=tuple(fields.path),
        driver=fields.driver,
        physical=None if fields.physical is None else _address(f"{at}.physical", fields.physical),
    )


def _gpu(at: str, fields: schema.GpuFields, domains: Domains) -> Gpu:
    return Gpu(
        pci=_address(f"{at}.pci", fields.pci),
        numa=_domain(f"{at}.numa", fields.numa, domains),
        vendor=fields.vendor,
        uuid=None if fields.uuid is None else GpuUuid(fields.uuid),
        model=fields.model,
        path=tuple(fields.path),
        memory_numa=_domain(f"{at}.memory_numa", fields.memory_numa, domains),
        mig=fields.mig,
        fault=fields.fault,
    )


def _hca(at: str, fields: schema.HcaFields, domains: Domains) -> Hca:
    return Hca(
        name=HcaName(fields.name),
        pci=None if fields.pci is None else _address(f"{at}.pci", fields.pci),
        numa=_domain(f"{at}.numa", fields.numa, domains),
        ports=tuple(Port(port.number, port.active, port.link_layer, port.link_gbps) for port in fields.ports),
        vendor=fields.vendor,
        path=tuple(fields.path),
        fault=fields.fault,
    )


def _link(at: str, fields: schema.LinkFields) -> NvLink:
    a, b = _address(f"{at}.a", fields.a), _address(f"{at}.b", fields.b)
    if a >= b or fields.count < 1:
        raise InputError(at, found=f"{fields.count} links from {a} to {b}", wanted="a before b, at least one link")
    return NvLink(a, b, fields.count)


def _finding(at: str, fields: schema.FindingFields) -> Finding:
    if fields.code not in FindingCode.__members__:
        raise InputError(f"{at}.code", found=shown(fields.code), wanted=f"one of {' '.join(FindingCode)}")
    return Finding(FindingCode(fields.code), fields.where, fields.text)


def _cpus(at: str, text: str) -> CpuSet:
    with located(at):
        return CpuSet.parse(text)


def _address(at: str, text: str) -> PciAddress:
    with located(at):
        return parse_pci_address(text)


def _domain(at: str, id: int | None, domains: Domains) -> NumaId | None:
    if id is not None and id not in domains:
        raise InputError(at, found=str(id)[:20], wanted=f"one of the domains {' '.join(map(str, sorted(domains)))}")
    return None if id is None else NumaId(id)


def _each(at: str, things: Iterable[T], read: Callable[[str, T], R]) -> tuple[R, ...]:
    return tuple(read(f"{at}[{position}]", thing) for position, thing in enumerate(things))


def _refuse_twice(at: str, names: Iterable[Hashable]) -> None:
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            raise InputError(at, found=f"{name} twice", wanted="each one once")
        seen.add(name)


def _functions(listed: Iterable[schema.FunctionFields], domains: Domains) -> tuple[PciDevice, ...]:
    functions = _each("pci", listed, lambda at, one: _function(at, one, domains))
    _refuse_twice("pci", [function.address for function in functions])
    return functions


def _gpus(listed: Iterable[schema.GpuFields], domains: Domains) -> tuple[Gpu, ...]:
    gpus = _each("gpus", listed, lambda at, one: _gpu(at, one, domains))
    _refuse_twice("gpus", [gpu.pci for gpu in gpus])
    return gpus


def _hcas(listed: Iterable[schema.HcaFields], domains: Domains) -> tuple[Hca, ...]:
    hcas = _each("hcas", listed, lambda at, one: _hca(at, one, domains))
    _refuse_twice("hcas", [hca.name for hca in hcas])
    return hcas


# Every list of the document but `numas` and `findings`: how its nouns are read, given the domains there are.
PARTS: Mapping[str, Callable[[Any, Domains], tuple[Any, ...]]] = {
    "packages": lambda listed, _: _each("packages", listed, lambda at, p: Package(PackageId(p.id), _cpus(at, p.cpus))),
    "dies": lambda listed, _: _each("dies", listed, lambda at, d: Die(d.id, PackageId(d.package), _cpus(at, d.cpus))),
    "cores": lambda listed, _: _each("cores", listed, _cpus),
    "llcs": lambda listed, _: _each("llcs", listed, lambda at, c: Llc(c.level, _cpus(at, c.cpus), c.size_bytes)),
    "core_kinds": lambda listed, _: _each("core_kinds", listed, lambda at, k: CoreKind(k.name, _cpus(at, k.cpus))),
    "pci": _functions,
    "gpus": _gpus,
    "hcas": _hcas,
    "nvlinks": lambda listed, _: _each("nvlinks", listed, _link),
}

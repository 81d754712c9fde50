"""The annotation `numaplace.dev/allocation`: an Allocation as compact JSON, version first.

Written by the planner with the hint and the Binding; read by the agent, the device
plugins and the restarted planner. What is not exactly this version is refused.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from numaplace.model import keys
from numaplace.model.allocation import Allocation, ContainerShare, GpuRef, HcaRef, NumaCharge
from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import InputError, located
from numaplace.model.ids import ContainerName, GpuUuid, HcaName, NodeName, NumaId, parse_pci_address
from numaplace.model.proximity import Level
from numaplace.model.request import Hugepages, Policy
from numaplace.wire.annotation import MAX_CHARACTERS
from numaplace.wire.quantity import BINARY_UNITS, binary_text
from numaplace.wire.strict import convert, decode_json, shown

VERSION: Final = 1
MAX_NUMA = 65_535


class _Part(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A part of the document; fields at their default are not written."""


class _Gpu(_Part, kw_only=True):
    uuid: str | None = None
    pci: str


class _Hca(_Part):
    name: str
    pci: str | None = None


class _Share(_Part):
    cpus: str = ""
    gpus: list[_Gpu] = []
    hcas: list[_Hca] = []


_MOST = 2**63 - 1  # what quantities of Kubernetes can be; JSON knows no bound


class _Reached(_Part, rename="kebab"):
    width: int
    gpu_hca: str | None = None


class _Charge(_Part):
    numa: int
    cpu_milli: int = 0
    memory_bytes: int = 0
    hugepages: dict[str, int] = {}  # pages by size, such as 2Mi


class _Document(_Part):
    v: Literal[1]
    node: str
    numas: list[int]
    policy: str
    reached: _Reached
    containers: dict[str, _Share]
    mems: str | None = None
    charges: list[_Charge] = []
    planned_s: float | None = None


_POLICIES = {one.value: one for one in Policy}
_LEVELS = {one.name: one for one in Level}
_read = msgspec.json.Decoder(_Document).decode


def encode(allocation: Allocation) -> str:
    """The annotation's value; `decode` gives the same allocation back."""
    document = _Document(
        v=VERSION,
        node=allocation.node,
        numas=list(allocation.numas),
        policy=allocation.policy.value,
        reached=_Reached(allocation.width, None if allocation.gpu_hca is None else allocation.gpu_hca.name),
        containers={name: _share_text(share) for name, share in sorted(allocation.containers.items())},
        mems=str(CpuSet.of(allocation.numas)) if allocation.binds_memory else None,
        charges=[_charge_text(charge) for charge in allocation.charges],
        planned_s=None if allocation.planned_s is None else round(allocation.planned_s, 6),
    )
    return msgspec.json.encode(document).decode()


def decode(text: str, where: str) -> Allocation:
    """Read the annotation's value; InputError names the field, or the version that is not ours."""
    if len(text) > MAX_CHARACTERS:
        raise InputError(where, found=f"{len(text)} characters", wanted=f"at most {MAX_CHARACTERS}")
    document = _document(text, where)
    numas = _numas(document.numas, f"{where}: numas")
    mems = str(CpuSet.of(numas))
    if document.mems not in (None, mems):
        raise InputError(f"{where}: mems", found=shown(document.mems), wanted=f"{mems!r}, the same as numas")
    if not document.node or document.reached.width < 1:
        found = f"node {document.node!r}, width {document.reached.width}"
        raise InputError(where, found=found, wanted="the name of a node and a width of at least 1")
    return Allocation(
        node=NodeName(document.node),
        numas=numas,
        policy=_member(document.policy, _POLICIES, f"{where}: policy"),
        width=document.reached.width,
        containers={
            ContainerName(name): _share(share, f"{where}: containers[{name!r}]")
            for name, share in document.containers.items()
        },
        charges=tuple(_charge(charge, f"{where}: charges") for charge in document.charges),
        gpu_hca=_level(document.reached.gpu_hca, f"{where}: reached.gpu-hca"),
        binds_memory=document.mems is not None,
        planned_s=document.planned_s,
    )


def find(annotations: Mapping[str, str]) -> Allocation | None:
    """What the planner gave a Pod; what is not ours to the letter is no allocation, as if there were none."""
    return _found(annotations.get(keys.ALLOCATION))


@lru_cache(maxsize=4096)  # a Pod on its way is told several times
def _found(text: str | None) -> Allocation | None:
    if text is None:
        return None
    try:
        return decode(text, keys.ALLOCATION)
    except InputError:
        return None


def _document(text: str, where: str) -> _Document:
    """The annotation in its parts: at once where it is ours, else step by step for the sentence."""
    try:
        return _read(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    thing: Any = decode_json(text, dict[str, Any], where)
    version = thing.get("v")
    if version != VERSION or isinstance(version, bool):
        raise InputError(f"{where}: v", found=shown(version), wanted=f"version {VERSION}")
    return convert(thing, _Document, where)


def _share_text(share: ContainerShare) -> _Share:
    return _Share(
        cpus=str(share.cpus),
        gpus=[_Gpu(uuid=gpu.uuid, pci=gpu.pci) for gpu in share.gpus],
        hcas=[_Hca(hca.name, hca.pci) for hca in share.hcas],
    )


def _share(share: _Share, where: str) -> ContainerShare:
    with located(where):
        return ContainerShare(
            cpus=CpuSet.parse(share.cpus),
            gpus=tuple(
                GpuRef(parse_pci_address(gpu.pci), None if gpu.uuid is None else GpuUuid(gpu.uuid))
                for gpu in share.gpus
            ),
            hcas=tuple(
                HcaRef(HcaName(hca.name), None if hca.pci is None else parse_pci_address(hca.pci)) for hca in share.hcas
            ),
        )


def _charge_text(charge: NumaCharge) -> _Charge:
    pages = {binary_text(one.page_bytes): one.pages for one in charge.hugepages}
    return _Charge(charge.numa, charge.shared_cpu_milli, charge.memory_bytes, pages)


def _charge(charge: _Charge, where: str) -> NumaCharge:
    amounts = (charge.numa, charge.cpu_milli, charge.memory_bytes, *charge.hugepages.values())
    if min(amounts) < 0:
        raise InputError(where, found="an amount below 0", wanted="amounts of 0 or more")
    if max(amounts) > _MOST:
        raise InputError(where, found="an amount beyond 2^63", wanted="amounts that a machine can have")
    pages = sorted((_page_bytes(size, where), count) for size, count in charge.hugepages.items())
    return NumaCharge(
        numa=NumaId(charge.numa),
        shared_cpu_milli=charge.cpu_milli,
        memory_bytes=charge.memory_bytes,
        hugepages=tuple(Hugepages(page_bytes, count) for page_bytes, count in pages),
    )


def _page_bytes(text: str, where: str) -> int:
    unit = BINARY_UNITS.get(text[-2:], 1)
    digits = text[:-2] if unit > 1 else text
    if digits.isascii() and digits.isdigit() and len(digits) <= 12:
        return int(digits) * unit
    raise InputError(f"{where}: hugepages", found=shown(text), wanted="a page size like 2Mi or 1Gi")


def _numas(ids: list[int], where: str) -> tuple[NumaId, ...]:
    if ids != sorted(set(ids)) or any(not 0 <= one <= MAX_NUMA for one in ids):
        raise InputError(where, found=shown(str(ids)), wanted="rising NUMA ids")
    return tuple(NumaId(one) for one in ids)


def _level(text: str | None, where: str) -> Level | None:
    return None if text is None else _member(text, _LEVELS, where)


def _member(text: str, legal: dict[str, Any], where: str) -> Any:
    if text in legal:
        return legal[text]
    raise InputError(where, found=shown(text), wanted=", ".join(legal))

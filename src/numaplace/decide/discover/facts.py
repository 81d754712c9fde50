"""Facts: what no file of the kernel shows, said by the operator or by the agent.

They stand in the tree as `etc/numaplace/facts`, one a line, so that a capture and a
described machine carry them too. Format: docs/sources.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from numaplace.model.devices import NvLink
from numaplace.model.errors import InputError
from numaplace.model.finding import Finding, FindingCode
from numaplace.model.ids import GpuUuid, HcaName, NumaId, PciAddress, parse_pci_address

MAX_LINKS = 36  # NVML_NVLINK_MAX_LINKS

_NUMBER = re.compile(r"\d{1,5}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Facts:
    """Words on single devices; a device that is not named is left to what the kernel says."""

    uuids: Mapping[PciAddress, GpuUuid] = field(default_factory=dict)
    models: Mapping[PciAddress, str] = field(default_factory=dict)
    memory_numas: Mapping[PciAddress, NumaId] = field(default_factory=dict)
    mig: Mapping[PciAddress, bool] = field(default_factory=dict)
    gpu_faults: Mapping[PciAddress, str] = field(default_factory=dict)
    hca_faults: Mapping[HcaName, str] = field(default_factory=dict)
    numas: Mapping[str, NumaId] = field(default_factory=dict)  # by PCI address or by HCA name
    nvlinks: tuple[NvLink, ...] = ()  # rising, a pair once


class _Draft:
    """The facts of a file while its lines are read."""

    def __init__(self) -> None:
        self.uuids: dict[PciAddress, GpuUuid] = {}
        self.models: dict[PciAddress, str] = {}
        self.memory_numas: dict[PciAddress, NumaId] = {}
        self.mig: dict[PciAddress, bool] = {}
        self.gpu_faults: dict[PciAddress, str] = {}
        self.hca_faults: dict[HcaName, str] = {}
        self.numas: dict[str, NumaId] = {}
        self.links: dict[tuple[PciAddress, PciAddress], int] = {}

    def take(self, line: str) -> None:
        """Add one line; InputError where it says nothing known."""
        kind, name, word, value = (line.split(maxsplit=3) + [""] * 4)[:4]
        if not value or not line.isprintable():
            raise InputError("line", found=repr(line[:60]), wanted="four printable words: kind, device, field, value")
        match kind, word:
            case "gpu", "uuid":
                self.uuids[parse_pci_address(name)] = GpuUuid(value)
            case "gpu", "model":
                self.models[parse_pci_address(name)] = value
            case "gpu", "memory-numa":
                self.memory_numas[parse_pci_address(name)] = NumaId(_number(value))
            case "gpu", "mig":
                self.mig[parse_pci_address(name)] = _switch(value)
            case "gpu", "fault":
                self.gpu_faults[parse_pci_address(name)] = value
            case "hca", "fault":
                self.hca_faults[HcaName(name)] = value
            case "pci", "numa":
                self.numas[parse_pci_address(name)] = NumaId(_number(value))
            case "hca", "numa":
                self.numas[name] = NumaId(_number(value))
            case "nvlink", _:
                self._take_link(parse_pci_address(name), parse_pci_address(word), _number(value))
            case _:
                raise InputError(
                    "line",
                    found=repr(f"{kind} … {word}"[:60]),
                    wanted="gpu uuid, model, memory-numa, mig or fault; hca numa or fault; pci numa; nvlink",
                )

    def _take_link(self, a: PciAddress, b: PciAddress, count: int) -> None:
        if a == b or not 1 <= count <= MAX_LINKS:
            raise InputError("nvlink", found=f"{count} from {a} to {b}", wanted=f"1..{MAX_LINKS} between two GPUs")
        self.links[min(a, b), max(a, b)] = count

    def finished(self) -> Facts:
        return Facts(
            uuids=self.uuids,
            models=self.models,
            memory_numas=self.memory_numas,
            mig=self.mig,
            gpu_faults=self.gpu_faults,
            hca_faults=self.hca_faults,
            numas=self.numas,
            nvlinks=tuple(NvLink(a, b, count) for (a, b), count in sorted(self.links.items())),
        )


def parse_facts(text: str, where: str) -> tuple[Facts, list[Finding]]:
    """Read a facts file; a line that says nothing known becomes a finding and is left out."""
    draft, findings = _Draft(), []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip().replace("\t", " ")
        if not line or line.startswith("#"):
            continue
        try:
            draft.take(line)
        except InputError as error:
            findings.append(Finding(FindingCode.FILE_BROKEN, f"{where}:{number}", str(error)))
    return draft.finished(), findings


def facts_text(facts: Facts) -> str:
    """Write a facts file that `parse_facts` reads as the same facts."""
    return "".join(f"{line}\n" for line in _lines(facts))


def _lines(facts: Facts) -> Iterator[str]:
    for address, uuid in sorted(facts.uuids.items()):
        yield f"gpu {address} uuid {uuid}"
    for address, model in sorted(facts.models.items()):
        yield f"gpu {address} model {model}"
    for address, numa in sorted(facts.memory_numas.items()):
        yield f"gpu {address} memory-numa {numa}"
    for address, mig in sorted(facts.mig.items()):
        yield f"gpu {address} mig {'on' if mig else 'off'}"
    for address, fault in sorted(facts.gpu_faults.items()):
        yield f"gpu {address} fault {fault}"
    for hca, fault in sorted(facts.hca_faults.items()):
        yield f"hca {hca} fault {fault}"
    for name, numa in sorted(facts.numas.items()):
        yield f"{'pci' if ':' in name else 'hca'} {name} numa {numa}"
    for link in facts.nvlinks:
        yield f"nvlink {link.a} {link.b} {link.count}"


def _number(value: str) -> int:
    if _NUMBER.fullmatch(value) is None:
        raise InputError("value", found=repr(value[:40]), wanted="a number")
    return int(value)


def _switch(value: str) -> bool:
    if value not in ("on", "off"):
        raise InputError("value", found=repr(value[:40]), wanted="on or off")
    return value == "on"

"""What NVIDIA's driver shows of its cards under /proc/driver/nvidia.

UUID, model, own memory as a NUMA domain, exclusion, MIG instances. No NVLink: that
is known to NVML alone and may stand in the facts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import NVIDIA
from numaplace.model.errors import InputError
from numaplace.model.ids import GpuUuid, NumaId, PciAddress, parse_pci_address

_LINE = re.compile(r"^([^:\n]{1,40}):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class NvidiaCard:
    """One folder of gpus/."""

    uuid: GpuUuid | None = None
    model: str = ""
    memory_numa: NumaId | None = None
    mig: bool = False
    excluded: bool = False


def assemble_nvidia(reading: Reading) -> dict[PciAddress, NvidiaCard]:
    """The cards that the driver knows, by address."""
    cards = {}
    for name in reading.tree.names(f"{NVIDIA}/gpus"):
        try:
            address = parse_pci_address(name)
        except InputError:
            continue
        cards[address] = _card(reading, f"{NVIDIA}/gpus/{name}")
    return cards


def _card(reading: Reading, folder: str) -> NvidiaCard:
    told = _fields(reading.text(f"{folder}/information"))
    uuid = told.get("GPU UUID", "")
    minor = told.get("Device Minor", "")
    return NvidiaCard(
        uuid=GpuUuid(uuid) if _UUID.fullmatch(uuid) else None,  # GPU-????????-… until the card was first used
        model="".join(filter(str.isprintable, told.get("Model", ""))),
        memory_numa=_memory_numa(_fields(reading.text(f"{folder}/numa_status"))),
        mig=bool(minor.isdigit() and reading.numbered(f"{NVIDIA}/capabilities/gpu{minor}/mig", "gi")),
        excluded="Yes" in (told.get("GPU Excluded"), told.get("Blacklisted")),
    )


def _memory_numa(status: dict[str, str]) -> NumaId | None:
    node = status.get("Node", "")
    is_online = status.get("Status") == "online" and node.isascii() and node.isdigit() and len(node) < 6
    return NumaId(int(node)) if is_online else None


def _fields(text: str | None) -> dict[str, str]:
    return dict(_LINE.findall(text or ""))

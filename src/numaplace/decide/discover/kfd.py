"""What AMD's driver shows of its cards: unique id, partitions and xGMI links.

Nodes are numbered by the driver; the PCI address is packed into `location_id`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import KFD
from numaplace.model.devices import NvLink
from numaplace.model.ids import GpuUuid, PciAddress

XGMI = 11  # HSA_IOLINK_TYPE_XGMI of the kernel's kfd_crat.h

_LINE = re.compile(r"^(\w{1,40}) (\d{1,20})[ \t]*$", re.MULTILINE | re.ASCII)


@dataclass(frozen=True, slots=True)
class AmdCards:
    """The cards that KFD shows."""

    uuids: dict[PciAddress, GpuUuid]
    split: frozenset[PciAddress]  # shown as several compute devices
    links: tuple[NvLink, ...]


def assemble_kfd(reading: Reading) -> AmdCards:
    """The cards by address, and the xGMI links between them."""
    nodes = {id: _properties(reading, f"{KFD}/{id}/properties") for id in reading.numbered(KFD, "")}
    address_of = {id: address for id, told in nodes.items() if (address := _address(told)) is not None}
    uuids: dict[PciAddress, GpuUuid] = {}
    seen, split = set(), set()
    for id, address in address_of.items():
        if address in seen:
            split.add(address)
        seen.add(address)
        if unique := nodes[id].get("unique_id"):
            uuids.setdefault(address, GpuUuid(f"GPU-{unique:016x}"))  # as ROCR_VISIBLE_DEVICES takes it
    return AmdCards(uuids, frozenset(split), _links(reading, address_of))


def _links(reading: Reading, address_of: dict[int, PciAddress]) -> tuple[NvLink, ...]:
    pairs = set()
    for id, address in address_of.items():
        for link in reading.numbered(f"{KFD}/{id}/io_links", ""):
            told = _properties(reading, f"{KFD}/{id}/io_links/{link}/properties")
            other = address_of.get(told.get("node_to", -1))
            if told.get("type") == XGMI and other is not None and other != address:
                pairs.add((min(address, other), max(address, other)))
    return tuple(NvLink(a, b, 1) for a, b in sorted(pairs))


def _properties(reading: Reading, path: str) -> dict[str, int]:
    return {key: int(value) for key, value in _LINE.findall(reading.text(path) or "")}


def _address(told: dict[str, int]) -> PciAddress | None:
    """The PCI address of a node with compute units; CPUs are nodes too and have none."""
    if not told.get("simd_count"):
        return None
    location = told.get("location_id", 0)
    bus, device, function = location >> 8 & 0xFF, location >> 3 & 0x1F, location & 7
    return PciAddress(f"{told.get('domain', 0) & 0xFFFFFFFF:04x}:{bus:02x}:{device:02x}.{function}")

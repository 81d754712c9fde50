"""HCAs: RDMA devices, with the PCI function behind each and the state of its ports.

Software HCAs have no PCI function; soft-RoCE lies where its network interface does.
docs/sources.md#hcas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from numaplace.decide.discover.facts import Facts
from numaplace.decide.discover.pci import Function, doubt_numa, doubt_unknown, function_on, only_placeable
from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import HCA, NET
from numaplace.model.devices import Hca, Port
from numaplace.model.finding import FindingCode
from numaplace.model.ids import HcaName, NumaId, PciAddress
from numaplace.model.topology import Numa

FABRIC_TYPES = ("2:", "3:")  # node_type of switches and routers: nothing a program opens

_STATE = re.compile(r"(\d)(?::.*)?", re.ASCII | re.DOTALL)
_ACTIVE = "4"  # IB_PORT_ACTIVE; 5 = active, deferred, cannot carry traffic
_RATE = re.compile(r"(\d{1,5}(?:\.\d{1,3})?) Gb/sec(?: .*)?", re.ASCII | re.DOTALL)
_LINK_LAYERS = frozenset({"InfiniBand", "Ethernet"})


def assemble_hcas(
    reading: Reading, functions: Mapping[PciAddress, Function], numas: Sequence[Numa], facts: Facts
) -> tuple[Hca, ...]:
    """The HCAs by name; doubts about each go to the findings."""
    names = [
        name
        for name in reading.tree.names(HCA)
        if not (reading.text(f"{HCA}/{name}/node_type") or "").startswith(FABRIC_TYPES)
    ]
    return tuple(_hca(reading, HcaName(name), functions, numas, facts) for name in names)


def _hca(
    reading: Reading, name: HcaName, functions: Mapping[PciAddress, Function], numas: Sequence[Numa], facts: Facts
) -> Hca:
    folder = f"{HCA}/{name}"
    pci = _own_function(reading, folder)
    behind = functions.get(pci or _parents_function(reading, folder) or PciAddress(""))
    numa = _numa(reading, name, pci, behind, numas, facts)
    fault = facts.hca_faults.get(name, "")
    if fault:
        reading.doubt(FindingCode.DEVICE_FAULT, folder, f"must not be used: {fault}")
    return Hca(
        name=name,
        pci=pci,
        numa=numa,
        ports=_ports(reading, f"{folder}/ports"),
        vendor=behind.device.vendor if behind and pci else "",
        path=behind.device.path if behind else (),
        fault=fault,
    )


def _own_function(reading: Reading, folder: str) -> PciAddress | None:
    """The PCI function behind the HCA: where its device link leads, else where the HCA itself lies.

    None for soft-RoCE, which names its interface; older kernels make it a child of that interface's card.
    """
    if reading.text(f"{folder}/parent"):
        return None
    real = reading.tree.follow(folder)
    device = reading.tree.links.get(f"{real}/device")
    return function_on(device if device is not None else real)


def _parents_function(reading: Reading, folder: str) -> PciAddress | None:
    """The PCI function of the network interface under a soft-RoCE device."""
    interface = reading.text(f"{folder}/parent")
    return function_on(reading.tree.follow(f"{NET}/{interface}")) if interface else None


def _numa(
    reading: Reading,
    name: HcaName,
    pci: PciAddress | None,
    behind: Function | None,
    numas: Sequence[Numa],
    facts: Facts,
) -> NumaId | None:
    told = facts.numas.get(name)
    if told is not None:
        return told
    if behind is not None:
        doubt_numa(reading, behind, numas, overridden=behind.device.address in facts.numas)
        return behind.device.numa
    numa = facts.numas.get(pci, only_placeable(numas)) if pci else only_placeable(numas)
    doubt_unknown(reading, f"{HCA}/{name}", numa, numas)
    return numa


def _ports(reading: Reading, folder: str) -> tuple[Port, ...]:
    return tuple(_port(reading, f"{folder}/{number}", number) for number in reading.numbered(folder, ""))


def _port(reading: Reading, folder: str, number: int) -> Port:
    state = _matched(reading, f"{folder}/state", _STATE, "a state such as 4: ACTIVE")
    rate = _matched(reading, f"{folder}/rate", _RATE, "a rate such as 400 Gb/sec (4X NDR)")
    layer = reading.text(f"{folder}/link_layer")
    return Port(
        number=number,
        active=state == _ACTIVE,
        link_layer=layer if layer in _LINK_LAYERS else "",
        link_gbps=None if rate is None else float(rate),
    )


def _matched(reading: Reading, path: str, pattern: re.Pattern[str], wanted: str) -> str | None:
    text = reading.text(path)
    match = None if text is None else pattern.fullmatch(text)
    if text is not None and match is None:
        reading.doubt(FindingCode.FILE_BROKEN, path, f"holds {text[:40]!r}, not {wanted}")
    return match[1] if match else None

"""NCCL and RCCL topology files as described machines.

Such a file (NCCL_TOPO_DUMP_FILE, or one that a cloud ships) knows CPUs by NUMA id,
the PCI switches below them, GPUs with their links, and network cards. It knows no
memory, no distances, no caches and no SMT, so the machine does not tell them either.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from numaplace.decide.discover.describe import Description
from numaplace.decide.discover.describe_cards import Card, HostBridge, Switch
from numaplace.decide.discover.describe_regular import with_devices
from numaplace.decide.discover.facts import MAX_LINKS
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.devices import NvLink
from numaplace.model.errors import InputError, located
from numaplace.model.ids import NumaId, PciAddress, parse_pci_address
from numaplace.model.topology import Numa, NumaKind, Topology
from numaplace.wire.nccl_cards import address_of, card_of, number_of
from numaplace.wire.nccl_xml import Element, parse_xml

INVENTED_DOMAIN = 0xF000
"""PCI domain of the ports that a file leaves out: it names a switch once, sysfs shows all its ports."""

MAX_NUMA, MAX_CPU = 1023, 8191

_LINKS = ("nvlink", "xgmi")
_SWITCH_CLASS = "0x068000"  # an NVSwitch, as the far end of a link


def parse_nccl(text: str, where: str = "topology file") -> Description:
    """Read a topology file of NCCL or RCCL; InputError names the line and what would be right."""
    root = parse_xml(text, where)
    if root.tag != "system" or not root.all("cpu"):
        raise InputError(where, found=f"<{root.tag[:40]}>", wanted="<system> with <cpu> elements, as NCCL writes it")
    cpus = {number_of(cpu, "numaid", MAX_NUMA, where): cpu for cpu in root.all("cpu")}
    if len(cpus) < len(root.all("cpu")):
        raise InputError(where, found="one numaid on two <cpu>", wanted="each NUMA domain once")
    numas = tuple(_numa(NumaId(id), cpus[id], where) for id in sorted(cpus))
    online = union(numa.cpus for numa in numas)
    machine = Topology(online, numas, cores=tuple(CpuSet(1 << cpu) for cpu in online))
    bridges = [HostBridge(NumaId(id), (thing,)) for id in sorted(cpus) for thing in _below(cpus[id], where)]
    with located(where):
        wired = with_devices(machine, bridges, domain=INVENTED_DOMAIN)
    return Description(replace(wired, nvlinks=_links(root, wired, where)))


def _numa(id: NumaId, cpu: Element, where: str) -> Numa:
    place, mask = f"{where}, line {cpu.line}: affinity", cpu.attributes.get("affinity", "0")
    with located(place):
        cpus = CpuSet.parse_mask(mask)
    if cpus.bits.bit_length() > MAX_CPU + 1:
        raise InputError(place, found=f"CPU {cpus.bits.bit_length() - 1}", wanted=f"CPUs up to {MAX_CPU}")
    return Numa(id, NumaKind.CPU if cpus else NumaKind.MEMORY, cpus, memory_bytes=None)


def _below(element: Element, where: str) -> list[Card | Switch]:
    """The cards and switches right below; elements of one address are one switch, however often they are written."""
    things: dict[PciAddress, Card | Switch] = {}
    for child in element.all("pci"):
        card = card_of(child, where)
        address, below = address_of(child, where), () if card else tuple(_below(child, where))
        known = things.get(address)
        if card is not None and known is not None:
            raise InputError(f"{where}, line {child.line}", found=f"{address} twice", wanted="each card once")
        if card is not None:
            things[address] = card
        elif below:
            things[address] = Switch((*(known.below if isinstance(known, Switch) else ()), *below), address)
    return list(things.values())


def _links(root: Element, machine: Topology, where: str) -> tuple[NvLink, ...]:
    """Links between cards of the machine; those into switches join every two cards that have some."""
    known = {gpu.pci for gpu in machine.gpus}
    direct: dict[tuple[PciAddress, PciAddress], int] = {}
    switched: dict[PciAddress, int] = {}
    for pci, link in _link_elements(root, where):
        count = number_of(link, "count", MAX_LINKS, where)
        target = _target(link, where)
        if link.attributes.get("tclass") == _SWITCH_CLASS:
            switched[pci] = min(MAX_LINKS, switched.get(pci, 0) + count)
        elif target in known and target != pci:
            pair = (min(pci, target), max(pci, target))
            direct[pair] = max(count, direct.get(pair, 0))
    for a, b in _pairs(sorted(switched)):
        direct[a, b] = max(direct.get((a, b), 0), min(switched[a], switched[b]))
    return tuple(NvLink(a, b, count) for (a, b), count in sorted(direct.items()) if count)


def _pairs(addresses: Sequence[PciAddress]) -> Iterator[tuple[PciAddress, PciAddress]]:
    return ((a, b) for at, a in enumerate(addresses) for b in addresses[at + 1 :])


def _link_elements(element: Element, where: str) -> Iterator[tuple[PciAddress, Element]]:
    """Every link with the address of the card it starts from."""
    for child in element.below:
        for gpu in child.all("gpu") if child.tag == "pci" else ():
            yield from ((address_of(child, where), link) for tag in _LINKS for link in gpu.all(tag))
        yield from _link_elements(child, where)


def _target(link: Element, where: str) -> PciAddress:
    with located(f"{where}, line {link.line}: target"):
        return parse_pci_address(link.attributes.get("target", ""))

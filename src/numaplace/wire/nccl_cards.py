"""Cards in a topology file of NCCL: which element is a GPU, an HCA, or a plain network card.

A file says of itself what NCCL saw: real files leave out vendors, and NICs that NCCL
reaches through sockets have port 0.
"""

from collections.abc import Iterator

from numaplace.decide.discover.describe_cards import Card, GpuCard, HcaCard, NetworkCard, Rdma
from numaplace.model.devices import AMAZON_VENDOR, AMD_VENDOR, MELLANOX_VENDOR, NVIDIA_VENDOR, Port
from numaplace.model.errors import InputError, located
from numaplace.model.ids import HcaName, PciAddress, parse_pci_address
from numaplace.wire.machine_cards import RDMA_NAME
from numaplace.wire.nccl_xml import Element
from numaplace.wire.strict import shown

_AMD_CLASS, _INFINIBAND_CLASS = "0x038000", "0x020700"
_RDMA_VENDORS = frozenset({MELLANOX_VENDOR, AMAZON_VENDOR})
_MAX_PORT, _MAX_MBPS = 255, 10_000_000


def card_of(element: Element, where: str) -> Card | None:
    """The card that a `<pci>` element is; None for bridges and for what says nothing of itself."""
    code = element.attributes.get("class", "")
    if element.all("gpu") or code.startswith(("0x03", "0x12")):
        return GpuCard(address_of(element, where), _gpu_vendor(element, code))
    if code.startswith("0x02"):
        return _network(element, code, where)
    return None


def address_of(element: Element, where: str) -> PciAddress:
    """The address in `busid`."""
    with located(f"{where}, line {element.line}: busid"):
        return parse_pci_address(element.attributes.get("busid", ""))


def _gpu_vendor(element: Element, code: str) -> str:
    told = _vendor(element)
    by_look = code == _AMD_CLASS or any("gcn" in gpu.attributes for gpu in element.all("gpu"))
    return told or (AMD_VENDOR if by_look else NVIDIA_VENDOR)


def _network(element: Element, code: str, where: str) -> Card:
    address, vendor = address_of(element, where), _vendor(element)
    nets = [net for nic in element.all("nic") for net in nic.all("net")]
    by_name: dict[HcaName, list[Port]] = {}
    for net in nets:
        for name, port in _rdma(net, code, where):
            by_name.setdefault(name, []).append(port)
    if by_name:
        devices = (Rdma(name, tuple(sorted(ports, key=lambda port: port.number))) for name, ports in by_name.items())
        return HcaCard(address, vendor or MELLANOX_VENDOR, tuple(devices))
    if not nets and (code == _INFINIBAND_CLASS or vendor in _RDMA_VENDORS):
        port = Port(1, active=True, link_layer=_link_layer(code))
        return HcaCard(address, vendor or MELLANOX_VENDOR, (Rdma(None, (port,)),))
    return NetworkCard(address, vendor or "ffff")


def _rdma(net: Element, code: str, where: str) -> Iterator[tuple[HcaName, Port]]:
    """The RDMA device and port that a `<net>` is; nothing for a socket."""
    port = number_of(net, "port", _MAX_PORT, where)
    if port == 0:
        return
    name = net.attributes.get("name", "")
    if RDMA_NAME.fullmatch(name) is None:
        raise InputError(f"{where}, line {net.line}: name", found=shown(name), wanted="a device name, like mlx5_0")
    mbps = number_of(net, "speed", _MAX_MBPS, where)
    yield HcaName(name), Port(port, active=True, link_layer=_link_layer(code), link_gbps=mbps / 1000 if mbps else None)


def _link_layer(code: str) -> str:
    return "InfiniBand" if code == _INFINIBAND_CLASS else "Ethernet"


def _vendor(element: Element) -> str:
    """Four hex digits; empty where the file has a filler."""
    told = element.attributes.get("vendor", "").removeprefix("0x").lower()
    known = len(told) == 4 and all(digit in "0123456789abcdef" for digit in told) and told not in ("0000", "ffff")
    return told if known else ""


def number_of(element: Element, name: str, most: int, where: str) -> int:
    """A decimal attribute; 0 where it is missing."""
    text = element.attributes.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
        raise InputError(f"{where}, line {element.line}: {name}", found=shown(text), wanted=f"0..{most}")
    return int(text)

"""Cards of a described machine in YAML: GPUs, HCAs and network cards."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from numaplace.decide.discover.describe_cards import Card, GpuCard, HcaCard, NetworkCard, Rdma
from numaplace.model.devices import Port
from numaplace.model.errors import InputError, located
from numaplace.model.ids import GpuUuid, HcaName, NumaId, PciAddress, parse_pci_address
from numaplace.wire.machine_schema import BranchFields, GpuFields, HcaFields, NetworkFields, PortFields
from numaplace.wire.strict import shown

MAX_CARDS = 128  # of one kind in one place
MAX_PORTS = 16
MAX_GBPS = 10_000

T = TypeVar("T")

_VENDOR = re.compile(r"[0-9a-f]{4}")
RDMA_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_UUID = re.compile(r"[\x21-\x7e]{1,96}")
_LINE = re.compile(r"(?:[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]| (?! )){1,200}")


def cards_of(fields: BranchFields, where: str) -> Sequence[Card]:
    """The GPUs, HCAs and network cards that hang right here, in this order."""
    return (
        *(_gpu(card, place) for card, place in _each(fields.gpus, GpuFields(), f"{where}.gpus")),
        *(_hca(card, place) for card, place in _each(fields.hcas, HcaFields(), f"{where}.hcas")),
        *(_network(card, place) for card, place in _each(fields.nics, NetworkFields(), f"{where}.nics")),
    )


def address_of(text: str | None, where: str) -> PciAddress | None:
    """The field `pci` of something, where it is given."""
    if text is None:
        return None
    with located(f"{where}.pci"):
        return parse_pci_address(text)


def line_of(text: str, where: str) -> str:
    """Words for a person, on one line."""
    return _fitting(text.strip(), _LINE, "one line of at most 200 letters", where)


def _gpu(card: GpuFields, where: str) -> GpuCard:
    return GpuCard(
        address=address_of(card.pci, where),
        vendor=_fitting(card.vendor, _VENDOR, "four lower-case hex digits", f"{where}.vendor"),
        model=card.model and line_of(card.model, f"{where}.model"),
        uuid=None if card.uuid is None else GpuUuid(_fitting(card.uuid, _UUID, "one word", f"{where}.uuid")),
        memory_numa=None if card.memory_numa is None else NumaId(card.memory_numa),
        mig=card.mig,
        fault=card.fault and line_of(card.fault, f"{where}.fault"),
    )


def _hca(card: HcaFields, where: str) -> HcaCard:
    if len({port.number for port in card.ports}) < len(card.ports) or len(card.ports) > MAX_PORTS:
        raise InputError(f"{where}.ports", found=f"{len(card.ports)} ports", wanted=f"at most {MAX_PORTS}, each once")
    name = None if card.name is None else HcaName(_fitting(card.name, RDMA_NAME, "a device name", f"{where}.name"))
    ports = [_port(port, f"{where}.ports[{at}]") for at, port in enumerate(card.ports)]
    return HcaCard(
        address=address_of(card.pci, where),
        vendor=_fitting(card.vendor, _VENDOR, "four lower-case hex digits", f"{where}.vendor"),
        devices=(Rdma(name, tuple(sorted(ports, key=lambda port: port.number))),),
        fault=card.fault and line_of(card.fault, f"{where}.fault"),
    )


def _port(port: PortFields, where: str) -> Port:
    if not 1 <= port.number <= 255:
        raise InputError(f"{where}.number", found=str(port.number)[:20], wanted="1..255")
    if port.link_layer not in ("InfiniBand", "Ethernet"):
        raise InputError(f"{where}.link-layer", found=shown(port.link_layer), wanted="InfiniBand or Ethernet")
    if port.gbps is not None and not 0 < port.gbps <= MAX_GBPS:
        raise InputError(f"{where}.gbps", found=str(port.gbps)[:20], wanted=f"a number up to {MAX_GBPS}")
    return Port(port.number, port.active, port.link_layer, port.gbps)


def _network(card: NetworkFields, where: str) -> NetworkCard:
    vendor = _fitting(card.vendor, _VENDOR, "four lower-case hex digits", f"{where}.vendor")
    return NetworkCard(address_of(card.pci, where), vendor)


def _each(cards: int | list[T], blank: T, where: str) -> Iterator[tuple[T, str]]:
    count = cards if isinstance(cards, int) else len(cards)
    if not 0 <= count <= MAX_CARDS:
        raise InputError(where, found=str(count)[:20], wanted=f"0..{MAX_CARDS}")
    listed = [blank] * count if isinstance(cards, int) else cards
    return ((card, f"{where}[{at}]") for at, card in enumerate(listed))


def _fitting(text: str, pattern: "re.Pattern[str]", wanted: str, where: str) -> str:
    if pattern.fullmatch(text) is None:
        raise InputError(where, found=shown(text), wanted=wanted)
    return text

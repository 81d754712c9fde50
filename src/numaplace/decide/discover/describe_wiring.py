"""Wiring: gives the functions of a described machine their addresses and bridge paths.

Addresses that a description names are kept, all others are handed out, so that
equal descriptions become equal machines.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from numaplace.decide.discover.accelerators import (
    ACCELERATOR,
    CLASSES_OF_VENDOR,
    COPROCESSOR,
    OTHER_DISPLAY,
    OTHER_VENDORS,
    THREE_D,
    is_accelerator,
)
from numaplace.decide.discover.describe_cards import (
    Card,
    GpuCard,
    HcaCard,
    HostBridge,
    Switch,
    addresses_in,
    names_in,
)
from numaplace.model.devices import (
    AMAZON_VENDOR,
    AMD_VENDOR,
    INTEL_VENDOR,
    MELLANOX_VENDOR,
    NVIDIA_VENDOR,
    BridgePath,
    Gpu,
    Hca,
    PciDevice,
)
from numaplace.model.errors import InputError
from numaplace.model.ids import GpuUuid, HcaName, NumaId, PciAddress
from numaplace.model.topology import Topology

BRIDGE_CLASS, NETWORK_CLASS, INFINIBAND_CLASS = 0x060400, 0x020000, 0x020700
GPU_CLASSES = (OTHER_DISPLAY, THREE_D, ACCELERATOR, COPROCESSOR)  # of these, the first that the vendor uses
DRIVERS = {NVIDIA_VENDOR: "nvidia", AMD_VENDOR: "amdgpu", MELLANOX_VENDOR: "mlx5_core", AMAZON_VENDOR: "efa"}
DEVICES = {  # a usual card of each
    NVIDIA_VENDOR: "2330",
    AMD_VENDOR: "74a1",
    MELLANOX_VENDOR: "1021",
    AMAZON_VENDOR: "efa2",
    INTEL_VENDOR: "1592",
}
NAME_STEMS = {MELLANOX_VENDOR: "mlx5_", AMAZON_VENDOR: "efa_"}

_BUSES, _SLOTS = 256, 32  # of a PCI domain, of a bus
_FIRST_BUS = 0x10  # below it real machines keep their chipset


class Wiring:
    """One walk over the host bridges; read `pci`, `gpus` and `hcas` when it is done."""

    def __init__(self, bridges: Sequence[HostBridge], beside: Topology, domain: int = 0) -> None:
        """Wire everything up beside what a machine has; new addresses begin in the PCI domain `domain`.

        InputError when an address or an RDMA name is used twice, or when more hangs
        below one bridge than a bus has room for.
        """
        named = [address for bridge in bridges for address in addresses_in(bridge.below)]
        named += [function.address for function in beside.pci]
        _refuse_twice("PCI address", named)
        self.pci = list(beside.pci)
        self.gpus = list(beside.gpus)
        self.hcas = list(beside.hcas)
        self._domain = domain
        self._used = {address.rpartition(":")[0] for address in named}
        self._named = {name for bridge in bridges for name in names_in(bridge.below)}
        self._named |= {hca.name for hca in beside.hcas}
        self._numbers = count()
        for bridge, start in zip(bridges, _starts(bridges), strict=True):
            self._buses = count(start)
            self._host_bridge(bridge)
        _refuse_twice("RDMA device name", [hca.name for hca in self.hcas])

    def _host_bridge(self, bridge: HostBridge) -> None:
        bus = self._free_bus()
        path = (f"pci{bus}",)
        for slot, thing in _slots(bridge.below, first=1):
            if bridge.flat and not isinstance(thing, Switch):
                self._card(thing, PciAddress(f"{bus}:{slot:02x}.0"), bridge.numa, path)
            else:
                port = self._port(PciAddress(f"{bus}:{slot:02x}.0"), bridge.numa, path)
                self._behind(thing, bridge.numa, port)

    def _behind(self, thing: Card | Switch, numa: NumaId | None, path: BridgePath) -> None:
        """Put one thing on a bus of its own, at the end of `path`."""
        first = PciAddress(f"{self._free_bus()}:00.0") if thing.address is None else thing.address
        if not isinstance(thing, Switch):
            return self._card(thing, first, numa, path)
        upstream, inner = self._port(first, numa, path), self._free_bus()
        for slot, below in _slots(thing.below, first=0):
            self._behind(below, numa, self._port(PciAddress(f"{inner}:{slot:02x}.0"), numa, upstream))
        return None

    def _port(self, address: PciAddress, numa: NumaId | None, path: BridgePath) -> BridgePath:
        self.pci.append(PciDevice(address, BRIDGE_CLASS, INTEL_VENDOR, "352a", numa, path, "pcieport"))
        return (*path, address)

    def _card(self, card: Card, free: PciAddress, numa: NumaId | None, path: BridgePath) -> None:
        address, vendor = card.address or free, card.vendor
        code = NETWORK_CLASS
        if isinstance(card, GpuCard):
            used = CLASSES_OF_VENDOR.get(vendor, OTHER_VENDORS)
            code = next(one for one in GPU_CLASSES if one in used) << 8
            uuid = card.uuid or _uuid_of(address) if vendor == NVIDIA_VENDOR else card.uuid
            self.gpus.append(Gpu(address, numa, vendor, uuid, card.model, path, card.memory_numa, card.mig, card.fault))
        elif isinstance(card, HcaCard):
            layers = {port.link_layer for device in card.devices for port in device.ports}
            code = INFINIBAND_CLASS if "InfiniBand" in layers else NETWORK_CLASS
            for device in card.devices:
                name = device.name or self._name(vendor)
                self.hcas.append(Hca(name, address, numa, device.ports, vendor, path, card.fault))
        device_id, driver = DEVICES.get(vendor, "0001"), DRIVERS.get(vendor, "")
        function = PciDevice(address, code, vendor, device_id, numa, path, driver)
        if isinstance(card, GpuCard) and not is_accelerator(function):
            raise InputError(f"GPU {address}", found=f"vendor {vendor}", wanted="one whose functions there are GPUs")
        self.pci.append(function)

    def _name(self, vendor: str) -> HcaName:
        """The next name of this vendor's kind that the description does not use itself."""
        stem = NAME_STEMS.get(vendor, "rdma_")
        return next(name for number in self._numbers if (name := HcaName(f"{stem}{number}")) not in self._named)

    def _free_bus(self) -> str:
        """The next bus that nobody has, as `DOMAIN:BUS`."""
        places = (divmod(number, _BUSES) for number in self._buses)
        buses = (f"{self._domain + domain:04x}:{bus:02x}" for domain, bus in places)
        bus = next(bus for bus in buses if bus not in self._used)
        self._used.add(bus)
        return bus


def _starts(bridges: Sequence[HostBridge]) -> Iterator[int]:
    """Where the buses of each host bridge begin: spread over one domain, or over as many as it takes."""
    needs = [1 + sum(map(_buses_of, bridge.below)) for bridge in bridges]
    spare = max(0, _BUSES - _FIRST_BUS - sum(needs)) // max(1, len(needs))
    at = _FIRST_BUS
    for need in needs:
        if at % _BUSES + need > _BUSES:
            at += _BUSES - at % _BUSES
        yield at
        at += need + spare


def _buses_of(thing: Card | Switch) -> int:
    return 2 + sum(map(_buses_of, thing.below)) if isinstance(thing, Switch) else 1


def _slots(below: Sequence[Card | Switch], first: int) -> Iterator[tuple[int, Card | Switch]]:
    if len(below) > _SLOTS - first:
        raise InputError(
            "devices below one PCI bridge", found=str(len(below)), wanted=f"at most {_SLOTS - first}; add a switch"
        )
    return iter(enumerate(below, first))


def _uuid_of(address: PciAddress) -> GpuUuid:
    """A UUID that follows from the address alone."""
    domain, _, rest = address.partition(":")
    return GpuUuid(f"GPU-{int(domain, 16):08x}-0000-4000-8000-{int(rest.replace(':', '').replace('.', ''), 16):012x}")


def _refuse_twice(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(what, found=f"{name} twice", wanted="each one once in a machine")
        seen.add(name)

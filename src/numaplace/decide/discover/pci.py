"""PCI functions: class, place in the tree of bridges, and NUMA domain.

The domain is what `numa_node` says, else what the bridges above, the CPUs nearby or
the physical function say; else unknown, which is not 0. docs/sources.md#device-numa.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import LOCAL, PCI
from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import BridgePath, PciDevice
from numaplace.model.errors import InputError
from numaplace.model.finding import FindingCode
from numaplace.model.ids import NumaId, PciAddress, parse_pci_address
from numaplace.model.topology import Numa

_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_FUNCTION = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass(frozen=True, slots=True)
class Function:
    """A PCI function with what is needed to answer for its domain."""

    device: PciDevice
    told: NumaId | None  # its own numa_node, if that domain exists
    local: CpuSet | None  # online CPUs of its local_cpulist
    dangling: int | None = None  # a numa_node that does not exist


def assemble_pci(
    reading: Reading, numas: Sequence[Numa], online: CpuSet, overrides: Mapping[str, NumaId]
) -> dict[PciAddress, Function]:
    """Every PCI function by rising address, its domain settled as far as anything tells it."""
    ids = {numa.id for numa in numas}
    functions = {}
    for name in reading.tree.names(PCI):
        try:
            address = parse_pci_address(name)
        except InputError:
            continue
        functions[address] = _function(reading, f"{PCI}/{name}", address, ids, online)
    settled = _Settled(functions, numas, online, overrides)
    return {
        address: replace(function, device=replace(function.device, numa=settled.numa_of(address)))
        for address, function in sorted(functions.items())
    }


def bridge_path(path: str) -> BridgePath:
    """The host bridge and the bridges below it on a path of the device tree, without the last component.

    Empty where the path names no host bridge.
    """
    parts = path.split("/")[:-1]
    for start, part in enumerate(parts):
        if _HOST_BRIDGE.fullmatch(part):
            return tuple(one for one in parts[start:] if _HOST_BRIDGE.fullmatch(one) or _FUNCTION.fullmatch(one))
    return ()


def function_on(path: str) -> PciAddress | None:
    """The last PCI function on a path of the device tree, itself included."""
    for part in reversed(path.split("/")):
        if _FUNCTION.fullmatch(part):
            return parse_pci_address(part)
    return None


def _function(reading: Reading, folder: str, address: PciAddress, ids: set[NumaId], online: CpuSet) -> Function:
    numa_node = reading.number(f"{folder}/numa_node")
    local = reading.cpus(folder, LOCAL)
    physical = reading.tree.links.get(f"{reading.tree.follow(folder)}/physfn")
    exists = numa_node in ids
    device = PciDevice(
        address=address,
        class_code=(reading.hexadecimal(f"{folder}/class") or 0) & 0xFFFFFF,
        vendor=f"{(reading.hexadecimal(f'{folder}/vendor') or 0) & 0xFFFF:04x}",
        device=f"{(reading.hexadecimal(f'{folder}/device') or 0) & 0xFFFF:04x}",
        numa=None,
        path=bridge_path(reading.tree.follow(folder)),
        driver=reading.tree.links.get(f"{reading.tree.follow(folder)}/driver", "").rpartition("/")[2],
        physical=function_on(physical) if physical else None,
    )
    return Function(
        device=device,
        told=NumaId(numa_node) if exists and numa_node is not None else None,
        local=None if local is None else local & online,
        dangling=numa_node if numa_node is not None and numa_node >= 0 and not exists else None,
    )


class _Settled:
    """Answers for the domain of each function, from what all of them say."""

    def __init__(
        self,
        functions: Mapping[PciAddress, Function],
        numas: Sequence[Numa],
        online: CpuSet,
        overrides: Mapping[str, NumaId],
    ) -> None:
        self._functions, self._numas, self._online, self._overrides = functions, numas, online, overrides
        self._only = only_placeable(numas)

    def numa_of(self, address: PciAddress) -> NumaId | None:
        function = self._functions[address]
        answer = self._said_of(function)
        physical = function.device.physical
        if answer is None and physical is not None and physical in self._functions:
            answer = self._said_of(self._functions[physical])
        return self._only if answer is None else answer

    def _said_of(self, function: Function) -> NumaId | None:
        """The first word on the function itself: operator, own file, nearest bridge, CPUs nearby."""
        overridden = self._overrides.get(function.device.address)
        if overridden is not None:
            return overridden
        if function.told is not None:
            return function.told
        for name in reversed(function.device.path):
            bridge = self._functions.get(PciAddress(name))
            if bridge is not None and (above := self._overrides.get(name, bridge.told)) is not None:
                return above
        return numa_near(self._numas, self._online, function.local)


def only_placeable(numas: Sequence[Numa]) -> NumaId | None:
    """The domain that holds CPUs, if there is just one: what is unknown must then be there."""
    with_cpus = [numa.id for numa in numas if numa.cpus]
    return with_cpus[0] if len(with_cpus) == 1 else None


def numa_near(numas: Sequence[Numa], online: CpuSet, local: CpuSet | None) -> NumaId | None:
    """The one domain that holds these CPUs; None if they are none, all, or in several domains."""
    if not local or local == online:
        return None
    holders = [numa.id for numa in numas if not numa.cpus.isdisjoint(local)]
    return holders[0] if len(holders) == 1 else None


def doubt_numa(reading: Reading, function: Function, numas: Sequence[Numa], *, overridden: bool) -> None:
    """Say what is odd about the domain of a GPU or an HCA."""
    device, where = function.device, f"{PCI}/{function.device.address}"
    if function.dangling is not None:
        text = f"numa_node names NUMA domain {function.dangling}, which does not exist"
        reading.doubt(FindingCode.NUMA_CONFLICT, where, text)
    if overridden:
        return
    if function.told is None:
        doubt_unknown(reading, where, device.numa, numas)
        return
    near = numa_near(numas, CpuSet(), function.local)
    if near is not None and near != function.told:
        text = f"numa_node says NUMA domain {function.told}, the CPUs nearby are those of {near}: numa_node is believed"
        reading.doubt(FindingCode.NUMA_CONFLICT, where, text)


def doubt_unknown(reading: Reading, where: str, numa: NumaId | None, numas: Sequence[Numa]) -> None:
    """Say that a device does not tell its domain, and what that comes to."""
    if numa is None:
        text = "nothing tells its NUMA domain; a line in /etc/numaplace/facts can"
    elif numa == only_placeable(numas):
        text = f"its NUMA domain is not told: taken as {numa}, the only one with CPUs"
    else:
        text = f"it does not tell its NUMA domain: taken as {numa} from the bridges above it or the CPUs nearby"
    reading.doubt(FindingCode.NUMA_UNKNOWN, where, text)

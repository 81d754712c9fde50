"""The devices of a described machine in YAML: what hangs where, and what is wrong with it.

Cards themselves are read in `machine_cards`.
"""

from collections.abc import Iterator
from dataclasses import replace

from numaplace.decide.discover.describe_cards import Card, HostBridge, Switch
from numaplace.decide.discover.describe_regular import all_linked, with_devices
from numaplace.decide.discover.facts import MAX_LINKS
from numaplace.model.devices import NvLink
from numaplace.model.errors import InputError
from numaplace.model.ids import NumaId
from numaplace.model.topology import Topology
from numaplace.wire.machine_cards import address_of, cards_of
from numaplace.wire.machine_changes import changed_devices
from numaplace.wire.machine_domains import parse_ids
from numaplace.wire.machine_schema import BranchFields, HolderFields, LinkFields, MachineFields

MAX_DEPTH = 8  # switches below switches


def described_devices(fields: MachineFields, machine: Topology, where: str) -> Topology:
    """The machine with the devices that are listed, beside those it has, changed as the fields say."""
    machine = with_devices(machine, list(_bridges(fields, where)))
    if fields.gpu_model:
        gpus = (gpu if gpu.model else replace(gpu, model=fields.gpu_model) for gpu in machine.gpus)
        machine = replace(machine, gpus=tuple(gpus))
    if fields.nvlinks is not None:
        machine = replace(machine, nvlinks=_nvlinks(fields.nvlinks, machine, f"{where}: nvlinks"))
    domains = {numa.id for numa in machine.numas}
    for gpu in machine.gpus:
        if gpu.memory_numa is not None and gpu.memory_numa not in domains:
            place = f"{where}: memory-numa of {gpu.pci}"
            raise InputError(place, found=str(gpu.memory_numa)[:20], wanted="a domain of this machine")
    return changed_devices(fields, machine, where)


def _bridges(fields: MachineFields, where: str) -> Iterator[HostBridge]:
    for at, numa in enumerate(fields.numas):
        place = f"{where}: numas[{at}]"
        ids = parse_ids(numa.id, f"{place}.id")
        for bridge in _held(numa, ids[0], place):
            if len(ids) > 1:
                raise InputError(place, found=f"devices in {len(ids)} domains", wanted="devices in one domain")
            yield bridge
    if fields.unknown is not None:
        yield from _held(fields.unknown, None, f"{where}: unknown")


def _held(fields: HolderFields, numa: NumaId | None, where: str) -> Iterator[HostBridge]:
    """A host bridge for each thing that hangs on the domain itself, and those that are told."""
    for thing in _below(fields, where, depth=0):
        yield HostBridge(numa, (thing,))
    for at, bridge in enumerate(fields.bridges):
        yield HostBridge(numa, _below(bridge, f"{where}.bridges[{at}]", depth=0), bridge.flat)


def _below(fields: BranchFields, where: str, depth: int) -> tuple[Card | Switch, ...]:
    if depth > MAX_DEPTH:
        raise InputError(where, found=f"more than {MAX_DEPTH} switches below each other", wanted="fewer")
    switches = []
    for at, switch in enumerate(fields.switches):
        place = f"{where}.switches[{at}]"
        switches.append(Switch(_below(switch, place, depth + 1), address_of(switch.pci, place)))
    return (*cards_of(fields, where), *switches)


def _nvlinks(links: int | list[LinkFields], machine: Topology, where: str) -> tuple[NvLink, ...]:
    if isinstance(links, int):
        return all_linked(machine.gpus, _link_count(links, 0, where))
    found: dict[tuple[str, str], NvLink] = {}
    for at, group in enumerate(links):
        place = f"{where}[{at}]"
        if any(not 0 <= gpu < len(machine.gpus) for gpu in group.gpus):
            wanted = f"positions 0..{len(machine.gpus) - 1} of GPUs in order of PCI addresses"
            raise InputError(f"{place}.gpus", found=str(group.gpus)[:60], wanted=wanted)
        gpus = [machine.gpus[gpu] for gpu in sorted(set(group.gpus))]
        for link in all_linked(gpus, _link_count(group.links, 1, f"{place}.links")):
            found[link.a, link.b] = link
    return tuple(found[pair] for pair in sorted(found))


def _link_count(links: int, least: int, where: str) -> int:
    if not least <= links <= MAX_LINKS:
        raise InputError(where, found=str(links)[:20], wanted=f"{least}..{MAX_LINKS}")
    return links

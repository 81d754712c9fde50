"""GPUs and HCAs as chips, inside the switches and host bridges that they share."""

from collections.abc import Iterable

from numaplace.model.devices import Gpu, Hca
from numaplace.model.ids import PciAddress
from numaplace.model.topology import Topology
from numaplace.tools.show import words
from numaplace.tools.show.wiring import Shared, Thing, wiring_of
from numaplace.tools.topomap.blocks import Block, beside, chip, flowing, framed, text


class Chips:
    """The chips of one machine."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.numbers: dict[PciAddress, int] = {gpu.pci: number for number, gpu in enumerate(topology.gpus)}

    def of(self, numa: int | None, width: float) -> Block:
        """The devices of a domain, None for those of unknown domain, in rows no wider than `width`."""
        every: list[Gpu | Hca] = [*self.topology.gpus, *self.topology.hcas]
        things = wiring_of(card for card in every if card.numa == numa)
        return flowing([self._thing(thing) for thing in things], width, 6)

    def _thing(self, thing: Thing) -> Block:
        if isinstance(thing, Shared):
            name = "host bridge" if thing.is_host_bridge else "PCIe switch"
            inside = beside((self._thing(one) for one in thing.below), 5)
            return framed(inside, "bridge", text(name, "small soft", title=thing.bridge), pad=5)
        return self._gpu(thing) if isinstance(thing, Gpu) else _hca(thing)

    def _gpu(self, gpu: Gpu) -> Block:
        bad = words.health_text(gpu)
        details = [words.model_text(gpu), gpu.pci, gpu.uuid or "", bad]
        return _chip(f"GPU {self.numbers[gpu.pci]}", "gpu", details, is_bad=bool(bad))


def _hca(hca: Hca) -> Block:
    bad = words.health_text(hca)
    details = [hca.pci or "no PCI address", words.ports_text(hca.ports), bad]
    return _chip(hca.name, "hca", details, is_bad=bool(bad) or not any(port.active for port in hca.ports))


def _chip(name: str, kind: str, details: Iterable[str], *, is_bad: bool) -> Block:
    return chip(name, f"{kind} bad" if is_bad else kind, title=", ".join(filter(None, [name, *details])))

"""GPUs and HCAs as chips, inside the switches and host bridges that they share."""

from numaplace.model.devices import Gpu, Hca
from numaplace.model.ids import PciAddress
from numaplace.model.topology import Topology
from numaplace.tools.show import words
from numaplace.tools.show.wiring import Shared, Thing, wiring_of
from numaplace.tools.topomap.blocks import Block, beside, chip, flowing, framed, text
from numaplace.tools.topomap.holders import Paint


class Chips:
    """The chips of one machine."""

    def __init__(self, topology: Topology, paint: Paint) -> None:
        self.topology, self.paint = topology, paint
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
        return self._gpu(thing) if isinstance(thing, Gpu) else self._hca(thing)

    def _gpu(self, gpu: Gpu) -> Block:
        holder = self.paint.holders.gpus.get(gpu.pci)
        details = [words.model_text(gpu), gpu.pci, gpu.uuid or "", words.health_text(gpu)]
        return self._chip(f"GPU {self.numbers[gpu.pci]}", "gpu", holder, details, bool(words.health_text(gpu)))

    def _hca(self, hca: Hca) -> Block:
        holder = self.paint.holders.hcas.get(hca.name)
        details = [hca.pci or "no PCI address", words.ports_text(hca.ports), words.health_text(hca)]
        is_bad = bool(words.health_text(hca)) or not any(port.active for port in hca.ports)
        return self._chip(hca.name, "hca", holder, details, is_bad)

    def _chip(self, name: str, kind: str, holder: str | None, details: list[str], is_bad: bool) -> Block:
        css = " ".join([kind, *["own"] * (holder is not None), *["bad"] * is_bad])
        title = self.paint.title_of(holder) + ", ".join(filter(None, [name, *details]))
        return chip(name, css, style=self.paint.style_of(holder), title=title)

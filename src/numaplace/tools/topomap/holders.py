"""Who holds which CPU, GPU and HCA of a node, as labels for a drawing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from numaplace.model.ids import HcaName, PciAddress
from numaplace.tools.topomap.colours import colours_of, ink_on


@dataclass(frozen=True, slots=True)
class Holders:
    """A label (a Pod's name, mostly) for everything that is held."""

    cpus: Mapping[int, str] = field(default_factory=dict)
    gpus: Mapping[PciAddress, str] = field(default_factory=dict)
    hcas: Mapping[HcaName, str] = field(default_factory=dict)

    def labels(self) -> Iterator[str]:
        """Every label, those of CPUs first, in a steady order."""
        yield from (self.cpus[cpu] for cpu in sorted(self.cpus))
        yield from (self.gpus[gpu] for gpu in sorted(self.gpus))
        yield from (self.hcas[hca] for hca in sorted(self.hcas))


class Paint:
    """The colours of holders in one drawing; without holders every part has the colour of its kind."""

    def __init__(self, holders: Holders | None, colours: Mapping[str, str] | None = None) -> None:
        self.holders = holders or Holders()
        self.colours = dict(colours_of(self.holders.labels())) | dict(colours or {})

    def style_of(self, label: str | None) -> str:
        """The style attribute of something that `label` holds; empty for what is free."""
        if label is None:
            return ""
        colour = self.colours[label]
        return f"--own:{colour};--ink:{ink_on(colour)}"

    def title_of(self, label: str | None) -> str:
        """What a tooltip begins with."""
        return "" if label is None else f"{label}: "

    def holder_of_cpu(self, cpu: int | None) -> str | None:
        """The label of a CPU; None for one that is free, and for none at all."""
        return None if cpu is None else self.holders.cpus.get(cpu)

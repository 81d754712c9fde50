"""GPUs and HCAs by the bridges that they share: host bridges, PCIe switches, cards.

Ports that lead to one thing only are left out: what is shared is what matters.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numaplace.model.devices import Gpu, Hca


@dataclass(frozen=True, slots=True)
class Shared:
    """A bridge that several cards are behind; `below` is in the order of PCI addresses."""

    bridge: str  # "pci0000:10" for a host bridge, else the PCI address of the switch
    below: tuple["Gpu | Hca | Shared", ...]

    @property
    def is_host_bridge(self) -> bool:
        """Whether cards are joined by the root complex only."""
        return self.bridge.startswith("pci")


Thing = Gpu | Hca | Shared


def wiring_of(devices: Iterable[Gpu | Hca]) -> tuple[Thing, ...]:
    """What hangs side by side: cards alone and bridges that are shared, by PCI address."""
    ordered = sorted(devices, key=lambda device: (device.pci or "~", isinstance(device, Hca) and device.name))
    return _gathered(ordered, 0)


def _gathered(devices: Sequence[Gpu | Hca], depth: int) -> tuple[Thing, ...]:
    """Group by the bridge at `depth` of each path; a group of one is the card itself."""
    groups: dict[str, list[Gpu | Hca]] = {}
    for device in devices:
        # Cards on the bus itself, and those without a path, are groups of their own.
        key = device.path[depth] if len(device.path) > depth else f"={device.pci} {getattr(device, 'name', '')}"
        groups.setdefault(key, []).append(device)
    things: list[Thing] = []
    for bridge, members in groups.items():
        if len(members) == 1:
            things.append(members[0])
            continue
        below = _gathered(members, depth + 1)
        # A port that leads to one bridge only is not what is shared: that bridge is.
        things.append(below[0] if len(below) == 1 else Shared(bridge, below))
    return tuple(things)

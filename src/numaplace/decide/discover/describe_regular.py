"""A whole described machine from a Shape: processors, wired devices, links."""

from collections.abc import Sequence
from dataclasses import replace

from numaplace.decide.discover.describe import Description
from numaplace.decide.discover.describe_cards import HostBridge
from numaplace.decide.discover.describe_shape import Shape, bridges_of, processors_of
from numaplace.decide.discover.describe_wiring import Wiring
from numaplace.model.devices import Gpu, NvLink
from numaplace.model.topology import Topology


def description_of(shape: Shape) -> Description:
    """The regular machine of this shape; InputError when its numbers do not go together."""
    machine = processors_of(shape)
    return Description(with_devices(machine, bridges_of(shape, [numa.id for numa in machine.numas]), shape.links))


def with_devices(machine: Topology, bridges: Sequence[HostBridge], links: int = 0, domain: int = 0) -> Topology:
    """The machine with these devices added, and `links` NVLinks between every two GPUs if there are any."""
    wired = Wiring(bridges, machine, domain)
    gpus = tuple(sorted(wired.gpus, key=lambda gpu: gpu.pci))
    return replace(
        machine,
        pci=tuple(sorted(wired.pci, key=lambda function: function.address)),
        gpus=gpus,
        hcas=tuple(sorted(wired.hcas, key=lambda hca: hca.name)),
        nvlinks=all_linked(gpus, links) or machine.nvlinks,
    )


def all_linked(gpus: Sequence[Gpu], links: int) -> tuple[NvLink, ...]:
    """`links` NVLinks between every two of these GPUs; none for 0."""
    addresses = sorted(gpu.pci for gpu in gpus)
    pairs = ((a, b) for i, a in enumerate(addresses) for b in addresses[i + 1 :])
    return tuple(NvLink(a, b, links) for a, b in pairs) if links else ()

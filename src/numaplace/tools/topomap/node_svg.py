"""The drawing of one machine: packages, NUMA domains, CPUs, caches, GPUs, HCAs and links.

It shows what there is; who holds what is drawn in the browser, by `page.js`. It goes
inside an <svg> that has `STYLE`.
"""

from collections.abc import Iterator, Sequence
from math import ceil, sqrt

from numaplace.model.topology import Numa, NumaKind, Package, Topology
from numaplace.tools.show import words
from numaplace.tools.show.packages import numas_by_package
from numaplace.tools.topomap.blocks import EMPTY, Block, columns, flowing, framed, stacked, text, widened
from numaplace.tools.topomap.cpu_grid import WIDTH, cpu_grid
from numaplace.tools.topomap.device_chips import Chips
from numaplace.tools.topomap.link_arcs import link_arcs


def draw_node(topology: Topology, heading: str = "") -> Block:
    """Draw a machine; equal arguments give equal text. CPU ids and addresses are in tooltips."""
    block = stacked([text(heading, "head") if heading else EMPTY, *_Node(topology).parts()], 10)
    return Block(block.width, block.height, f'<g class="np">{block.body}</g>')


class _Node:
    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.chips = Chips(topology)

    def parts(self) -> Iterator[Block]:
        """Packages, then what belongs to none of them, then links."""
        packages, left = numas_by_package(self.topology)
        yield columns([self.package(package, inside) for package, inside in packages if inside], 2, 12)
        yield columns([self.domain(numa) for numa in left], 2, 12)
        yield flowing(list(self.bare_domains()), 2 * WIDTH, 8)
        yield self.homeless()
        yield link_arcs(self.topology)

    def package(self, package: Package, numas: Sequence[Numa]) -> Block:
        """A package with its domains, as square as they go."""
        domains = columns([self.domain(numa) for numa in numas], ceil(sqrt(len(numas))))
        return framed(domains, "package", text(f"Package {package.id}", "head"))

    def domain(self, numa: Numa) -> Block:
        """A domain with CPUs."""
        about = ", ".join(filter(None, (words.memory_text(numa), words.cores_text(self.topology, numa.cpus))))
        inside = stacked([cpu_grid(self.topology, numa), self.chips.of(numa.id, WIDTH)], 8)
        return framed(widened(inside, WIDTH), "numa", text(f"NUMA {numa.id}: {about}"))

    def bare_domains(self) -> Iterator[Block]:
        """Domains without CPUs; those that hold nothing at all are one box."""
        empty = []
        for numa in (numa for numa in self.topology.numas if not numa.cpus):
            devices = self.chips.of(numa.id, WIDTH)
            if numa.kind is NumaKind.INITIATOR and not devices.body:
                empty.append(numa.id)
                continue
            about = f"{words.memory_text(numa)}, {words.holds_text(self.topology, numa)}"
            yield framed(devices, "numa", text(f"NUMA {numa.id}: {about}"))
        if empty:
            about = words.KIND_WORDS[NumaKind.INITIATOR]
            yield framed(EMPTY, "numa", text(f"NUMA {words.ids_text(empty)}: {about}", "soft"))

    def homeless(self) -> Block:
        """Devices whose domain nobody knows."""
        devices = self.chips.of(None, 2 * WIDTH)
        return framed(devices, "numa", text("NUMA unknown")) if devices.body else EMPTY

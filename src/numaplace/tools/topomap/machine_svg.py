"""A machine as an SVG file of its own, with words for those who do not see it."""

from html import escape

from numaplace.model.topology import Topology
from numaplace.tools.show.words import links_text, machine_text, memory_text
from numaplace.tools.topomap.blocks import Block, beside, chip, moved, number, stacked, text
from numaplace.tools.topomap.cpu_grid import CELL
from numaplace.tools.topomap.node_svg import draw_node
from numaplace.tools.topomap.style import STYLE

MARGIN = 16


def svg_text(topology: Topology) -> str:
    """The picture; it scales to where it is put and needs nothing from elsewhere."""
    picture = stacked([draw_node(topology, heading=machine_text(topology)), _legend(topology)], 12)
    width, height = number(picture.width + 2 * MARGIN), number(picture.height + 2 * MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-labelledby="title desc">\n<title id="title">{escape(machine_text(topology))}</title>\n'
        f'<desc id="desc">{escape(_description(topology))}</desc>\n<style>{STYLE}</style>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{moved(picture, MARGIN, MARGIN)}\n</svg>\n'
    )


def _legend(topology: Topology) -> Block:
    cell = Block(CELL, CELL, f'<rect class="cpu" width="{CELL}" height="{CELL}"/>')
    parts = [cell, text("CPU: a column is a core, a gap another cache", "small soft")]
    if topology.gpus or topology.hcas:
        parts += [chip("GPU", "gpu", least=36), chip("HCA", "hca", least=36), chip("faulty or down", "hca bad")]
        parts.append(text("dashed frame: shared PCIe switch or host bridge", "small soft"))
    legend = beside(parts, 10, centred=True)
    return Block(legend.width, legend.height, f'<g class="np">{legend.body}</g>')


def _description(topology: Topology) -> str:
    domains = (f"NUMA {numa.id} has CPUs {numa.cpus}, {memory_text(numa)}" for numa in topology.numas if numa.cpus)
    cards = (
        f"GPU {number_of} is on NUMA {'unknown' if gpu.numa is None else gpu.numa}"
        for number_of, gpu in enumerate(topology.gpus)
    )
    return ". ".join(filter(None, (*domains, *cards, links_text(topology)))) + "."

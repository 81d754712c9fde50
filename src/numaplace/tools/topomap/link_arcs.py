"""NVLinks: one line of words where all GPUs are linked alike, else arcs between dots."""

from numaplace.model.topology import Topology
from numaplace.tools.show.words import are_linked_alike, links_name, links_text
from numaplace.tools.topomap.blocks import EMPTY, Block, number, stacked, text

STEP, DOT = 56.0, 5.0
_RISE = 0.32  # height of an arc as a part of its width


def link_arcs(topology: Topology) -> Block:
    """Nothing for a machine without links."""
    if not topology.nvlinks:
        return EMPTY
    if are_linked_alike(topology):
        return text(links_text(topology), "soft")
    return stacked([text(f"{links_name(topology)}, a thicker arc is more links", "small soft"), _arcs(topology)], 2)


def _arcs(topology: Topology) -> Block:
    at = {gpu.pci: position * STEP + STEP / 2 for position, gpu in enumerate(topology.gpus)}
    base = max(at[link.b] - at[link.a] for link in topology.nvlinks) * _RISE + DOT
    arcs = (_arc(at[link.a], at[link.b], base, link.count) for link in topology.nvlinks)
    dots = (
        f'<circle cx="{number(x)}" cy="{number(base)}" r="{number(DOT)}" fill="#0072b2"/>'
        f'<text class="small" x="{number(x)}" y="{number(base + 17)}" text-anchor="middle">GPU {gpu}</text>'
        for gpu, x in enumerate(at.values())
    )
    return Block(len(at) * STEP, base + 20, "".join((*arcs, *dots)))


def _arc(a: float, b: float, base: float, count: int) -> str:
    shape = (
        f"M{number(a)} {number(base)}A{number((b - a) / 2)} {number((b - a) * _RISE)} 0 0 1 {number(b)} {number(base)}"
    )
    style = f'stroke-width="{1 + min(count, 6)}" stroke-opacity=".55"'
    return f'<path class="link" {style} d="{shape}"><title>{count} links</title></path>'

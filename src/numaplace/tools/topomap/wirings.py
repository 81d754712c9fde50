"""The machines of a cluster, each drawn once with all its wiring, for the page with the map."""

from collections.abc import Iterable, Iterator
from html import escape

from numaplace.model.topology import Topology
from numaplace.tools.report.words import counted
from numaplace.tools.show.words import machine_text
from numaplace.tools.topomap.blocks import number
from numaplace.tools.topomap.cluster_map import MapNode
from numaplace.tools.topomap.node_svg import draw_node

MOST_MACHINES = 8  # different ones; a trace may have dozens that differ by an amount of memory


def wirings(nodes: Iterable[MapNode]) -> Iterator[str]:
    """One element to fold out for each different machine, the most frequent first."""
    counts: dict[int, int] = {}
    machines: dict[int, Topology] = {}
    for node in nodes:
        if node.topology is not None:
            counts[id(node.topology)] = counts.get(id(node.topology), 0) + 1
            machines[id(node.topology)] = node.topology
    for key in sorted(counts, key=lambda key: -counts[key])[:MOST_MACHINES]:
        yield _drawn(machines[key], counts[key])


def _drawn(topology: Topology, count: int) -> str:
    block, words = draw_node(topology), escape(machine_text(topology))
    width, height = number(block.width), number(block.height)
    return (
        f"<details><summary>{counted(count, 'node')}: {words}</summary>"
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{words}">'
        f"{block.body}</svg></details>"
    )

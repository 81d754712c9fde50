"""From the runs of a simulation to the page with the map."""

from collections.abc import Sequence

from numaplace.decide.rules import is_enabled
from numaplace.model.cluster import NodeState
from numaplace.model.settings import Settings
from numaplace.tools.report.compare import Run, compare_rows
from numaplace.tools.report.outcome import Landing, Unplaced
from numaplace.tools.report.table import alike, landing_cells
from numaplace.tools.report.totals import Totals, held_gpus, still_fits_text
from numaplace.tools.report.words import counted, share
from numaplace.tools.topomap.cluster_map import MapNode, MapPod
from numaplace.tools.topomap.page import Page, Table, Tile, page_text

_HEAD = ("Pod", "Node", "NUMA", "CPUs", "GPUs", "HCAs", "GPU–HCA", "Policy")
_WITHOUT_CARE = "without NUMA care"


def map_page(runs: Sequence[Run], settings: Settings) -> str:
    """The page of the first run, the others compared with it."""
    outcome, totals = runs[0]
    tables = [_unplaced(outcome.unplaced)] if outcome.unplaced else []
    if len(runs) > 1:
        head, rows = compare_rows(runs)
        tables.insert(0, Table("Compared on the same input", head, rows, numbers=True))
    page = Page(
        title="numaplace: Pods on paper",
        summary=f"{counted(totals.asked, 'Pod')} on {counted(totals.nodes, 'node')}, in {outcome.elapsed_s:.1f} s",
        tiles=_tiles(totals),
        pods=Table(
            "Pods",
            _HEAD,
            [_row(one) for one in outcome.landings],
        ),
        tables=tables,
        notes=outcome.notes,
        nodes=[_map_node(node, settings) for node in outcome.state.nodes.values()],
    )
    return page_text(page)


def _tiles(totals: Totals) -> list[Tile]:
    return [
        Tile(f"{totals.placed:,} of {totals.asked:,}", "Pods placed"),
        Tile(f"{totals.gpus_taken:,} of {totals.gpus:,}", f"GPUs taken, {share(totals.gpus_taken, totals.gpus)}"),
        Tile(
            share(totals.aligned, totals.planned),
            f"of {counted(totals.planned, 'chosen Pod')} in as few NUMA nodes as can be",
        ),
        Tile(_largest(totals), f"the largest that still fits one NUMA node; room for {still_fits_text(totals)}"),
    ]


def _largest(totals: Totals) -> str:
    sizes = [one.gpus for one in totals.still_fits if one.in_one_numa]
    return counted(max(sizes), "GPU") if sizes else "none"


def _row(one: Landing) -> Sequence[str]:
    if one.allocation is not None:
        return landing_cells(one)
    return (one.request.full_name, one.node, "–", "–", "–", "–", "–", _WITHOUT_CARE)


def _unplaced(unplaced: tuple[Unplaced, ...]) -> Table:
    rows = []
    for first, count in alike(unplaced):
        name = f"{first.name} and {count - 1:,} more" if count > 1 else first.name
        said = [f"{counted(reason.nodes, 'node')}: {reason.sentence}" for reason in first.reasons]
        rows.append((name, first.refusal.code, " — ".join(said) or first.refusal.sentence))
    return Table("Not placed", ("Pod", "Code", "Why"), rows)


def _map_node(node: NodeState, settings: Settings) -> MapNode:
    pods = tuple(
        MapPod(holder.request.full_name, holder.allocation, held_gpus(holder, settings))
        for holder in node.holders.values()
    )
    remark = "cordoned" if node.rules.cordoned else "" if is_enabled(node.rules, settings) else "not enabled"
    return MapNode(node.name, remark, node.topology, node.layout, pods)

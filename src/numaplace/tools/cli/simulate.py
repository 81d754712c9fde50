"""`numaplace simulate`: Pods placed on nodes that exist on paper."""

import time
from dataclasses import replace

import click

from numaplace.model.settings import Settings
from numaplace.tools.cli.paper import read_nodes, read_pods
from numaplace.tools.report.document import document_text
from numaplace.tools.report.table import outcome_text
from numaplace.tools.report.totals import totals_of
from numaplace.tools.sim.arrivals import intake_of
from numaplace.tools.sim.exact import numaplace
from numaplace.tools.sim.ledger import Ledger
from numaplace.tools.sim.play import play
from numaplace.wire.trace import Wishes


@click.command()
@click.option(
    "--nodes",
    "node_files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Nodes file, capture, dump of nodes, or openb node list; may be repeated.",
)
@click.option(
    "--pods", "pod_files", multiple=True, required=True, metavar="FILE", help="Manifests or a trace; may be repeated."
)
@click.option("-o", "--output", type=click.Choice(["table", "json", "html"]), default="table", show_default=True)
@click.option("--scores", is_flag=True, help="Show the parts of each Pod's score.")
def simulate(node_files: tuple[str, ...], pod_files: tuple[str, ...], output: str, scores: bool) -> None:
    """Place Pods on described nodes and say who gets what, and why the others get nothing."""
    settings = Settings()
    started = time.perf_counter()
    cluster = read_nodes(node_files, settings)
    given = read_pods(pod_files, cluster.state.nodes.values(), Wishes(), settings)
    intake = intake_of(((one.pod, one.arrives_s, one.leaves_s) for one in given.pods), settings)
    ledger = Ledger(cluster.state, settings)
    outcome = play(intake.arrivals, numaplace(ledger))
    outcome = replace(
        outcome,
        unplaced=intake.invalid + outcome.unplaced,
        notes=cluster.notes + given.notes,
        elapsed_s=time.perf_counter() - started,
    )
    totals = totals_of(outcome, settings)
    click.echo(
        outcome_text(outcome, totals, settings, scores=scores)
        if output == "table"
        else document_text(outcome, totals, [])
    )

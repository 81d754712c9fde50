"""`numaplace status`: who holds what in a cluster, node by node, and who waits; nothing is written."""

import sys

import click

from numaplace.model.errors import InputError
from numaplace.tools.cli.files import deliver
from numaplace.tools.cli.source import Source, source_options
from numaplace.tools.live.holding import holdings_of
from numaplace.tools.report.document import json_text
from numaplace.tools.report.holdings import holdings_json
from numaplace.tools.report.holdings_table import holdings_text
from numaplace.tools.show.plain import plain


@click.command()
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Only this node, in full; may be repeated.")
@click.option("--waiting", is_flag=True, help="Only the Pods that wait.")
@click.option("-n", "--namespace", default="", help="Only Pods of this namespace  [default: of all]")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@source_options
def status(source: Source, nodes: tuple[str, ...], waiting: bool, namespace: str, output: str) -> None:
    """Say who holds what, node by node and NUMA node by NUMA node, and who waits.

    Reads Nodes, their reports and Pods from the API server, as the planner does, and
    the planner's Lease, which tells how it is set up. Needs the right to list the
    former and to get the latter; without the Lease the options count, and a note says so.
    """
    reading = source.reading()
    missing = sorted(set(nodes) - set(reading.keeper.state.nodes))
    if missing:
        raise InputError("--node", found=repr(missing[0]), wanted="a node of the cluster")
    found = holdings_of(reading, nodes=nodes, namespace=namespace)
    if output == "json":
        deliver(json_text(holdings_json(found)), None)
        return
    text = holdings_text(found, nodes=not waiting, waiting=waiting or not nodes)
    deliver(plain(text, sys.stdout.encoding), None)

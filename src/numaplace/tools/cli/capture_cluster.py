"""`numaplace capture cluster`: what `simulate`, `status` and `explain pod` need to see a cluster on paper."""

import gzip
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from numaplace.model.errors import InputError
from numaplace.model.words import counted
from numaplace.tools.cli.files import STANDARD_INPUT
from numaplace.tools.cli.source import Source, source_options
from numaplace.tools.live.capturing import Capture, take_names_out
from numaplace.tools.live.spool import spooled
from numaplace.tools.show.plain import plain
from numaplace.wire.cluster import write_cluster


@click.command("cluster")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to; *.gz is packed, - is standard output.")
@click.option(
    "--ours", is_flag=True, help="Only nodes that take placed Pods, the Pods on them, and Pods that ask a place."
)
@click.option("--anonymise", is_flag=True, help="Replace names, labels and identifiers by numbers.")
@source_options
def capture_cluster(source: Source, output: str, ours: bool, anonymise: bool) -> None:
    """Write down nodes, reports and Pods, the oldest Pod first, with the fields that numaplace reads and no others.

    Images, commands, environments and volumes' contents are not among them. Needs the right
    to list Nodes, NodeResourceTopologies and Pods, and to get the planner's Lease.
    """
    folder = None if output == STANDARD_INPUT else Path(output).parent
    try:
        with spooled(folder) as spool, spooled(folder) as nameless:
            capture = Capture(spool, source.settle, only_ours=ours)
            source.write_down(capture)
            lines: Iterable[str] = spool
            if anonymise:
                lines = map(take_names_out(spool, nameless, capture.settings), nameless)
            _write(output, write_cluster(capture.at_s, lines, capture.told))
            held = spool.counts()
    except BrokenPipeError:
        raise  # whoever reads has seen enough
    except OSError as error:
        wanted = "a place to write to"
        raise InputError(output, found=(error.strerror or str(error)).lower(), wanted=wanted) from error
    for problem in () if anonymise else capture.problems:
        click.echo(plain(f"note: {problem}", sys.stderr.encoding), err=True)
    nodes, reports = counted(held["Node"], "node"), counted(held["NodeResourceTopology"], "report")
    click.echo(f"{output}: {nodes}, {reports} and {counted(held['Pod'], 'Pod')}", err=output == STANDARD_INPUT)


def _write(output: str, pieces: Iterable[str]) -> None:
    """Make the file that is there as a whole at the end, or not at all."""
    if output == STANDARD_INPUT:
        sys.stdout.writelines(pieces)
        return
    path = Path(output)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with (
            gzip.open(part, "wt", encoding="utf-8")
            if path.suffix == ".gz"
            else part.open("w", encoding="utf-8") as file
        ):
            file.writelines(pieces)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

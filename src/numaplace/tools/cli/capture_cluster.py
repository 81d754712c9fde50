"""`numaplace capture cluster`: what `simulate`, `status` and `explain pod` need to see a cluster on paper."""

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from numaplace.model.errors import InputError
from numaplace.model.words import counted
from numaplace.tools.cli.files import STANDARD_INPUT
from numaplace.tools.cli.source import Source, source_options
from numaplace.tools.live.ours import only_ours
from numaplace.tools.show.plain import plain
from numaplace.wire.cluster import write_cluster
from numaplace.wire.cluster_names import anonymised


@click.command("cluster")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to; *.gz is packed, - is standard output.")
@click.option(
    "--ours", is_flag=True, help="Only nodes that take placed Pods, the Pods on them, and Pods that ask a place."
)
@click.option("--anonymise", is_flag=True, help="Replace names, labels and identifiers by numbers.")
@source_options
def capture_cluster(source: Source, output: str, ours: bool, anonymise: bool) -> None:
    """Write down nodes, reports and Pods, the oldest Pod first, with the fields that numaplace reads and no others.

    Images, commands, environments and volumes' contents are not among them.
    """
    objects = source.read()
    if ours:
        objects = only_ours(objects, source.settings)
    if anonymise:
        objects = anonymised(objects, source.settings)
    with _written(output) as file:
        for line in write_cluster(objects):
            file.write(line)
    for problem in objects.problems:
        click.echo(plain(f"note: {problem}", sys.stderr.encoding), err=True)
    nodes, reports = counted(len(objects.nodes), "node"), counted(len(objects.reports), "report")
    held = f"{nodes}, {reports} and {counted(len(objects.pods), 'Pod')}"
    click.echo(f"{output}: {held}", err=output == STANDARD_INPUT)


@contextmanager
def _written(output: str) -> Iterator[TextIO]:
    """A file that is there as a whole at the end, or not at all."""
    if output == STANDARD_INPUT:
        yield sys.stdout
        return
    path = Path(output)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with (
            gzip.open(part, "wt", encoding="utf-8")
            if path.suffix == ".gz"
            else part.open("w", encoding="utf-8") as file
        ):
            yield file
        part.replace(path)
    except OSError as error:
        wanted = "a place to write to"
        raise InputError(output, found=(error.strerror or str(error)).lower(), wanted=wanted) from error
    finally:
        part.unlink(missing_ok=True)

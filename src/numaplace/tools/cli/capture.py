"""`numaplace capture`: a machine, or a whole cluster, into a file that may be given away."""

from collections.abc import Mapping
from typing import ClassVar

import click

from numaplace.tools.cli.root import Entry, LazyGroup


class _Things(LazyGroup):
    entries: ClassVar[Mapping[str, Entry]] = {
        "machine": Entry("numaplace.tools.cli.capture_machine:capture_machine", "this machine (needs no name)"),
        "cluster": Entry("numaplace.tools.cli.capture_cluster:capture_cluster", "a cluster: nodes, reports and Pods"),
    }
    usual: ClassVar[str] = "machine"


@click.group(cls=_Things, subcommand_metavar="-o ARCHIVE | cluster -o FILE [OPTIONS]")
def capture() -> None:
    """Write down what is there, to be looked at elsewhere.

    `capture -o ARCHIVE` takes the files that describe this machine; it is short for
    `capture machine`. `capture cluster -o FILE` takes what a cluster holds.
    """

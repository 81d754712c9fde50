"""`numaplace explain`: why a Pod lies where it lies, or nowhere: of a cluster, or of files."""

from collections.abc import Mapping
from typing import ClassVar

import click

from numaplace.tools.cli.root import Entry, LazyGroup


class _Kinds(LazyGroup):
    entries: ClassVar[Mapping[str, Entry]] = {
        "pod": Entry("numaplace.tools.cli.explain_pod:explain_pod", "a Pod of a cluster: how it stands, and why"),
        "file": Entry(
            "numaplace.tools.cli.explain_file:explain_file", "Pods of a file, on nodes of files (needs no name)"
        ),
    }
    usual = "file"


@click.group(cls=_Kinds, subcommand_metavar="pod NAME | POD.yaml --nodes FILE [OPTIONS]")
def explain() -> None:
    """Say why a Pod lies where it lies, or has no place.

    `explain pod NAME` asks a cluster. `explain POD.yaml --nodes FILE` holds a manifest
    against nodes on paper; it is short for `explain file POD.yaml`.
    """

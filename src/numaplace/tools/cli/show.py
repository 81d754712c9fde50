"""`numaplace show`: a machine as a person, or a program, reads it."""

import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from numaplace.adapters.sysfs import read_tree
from numaplace.adapters.tree_files import write_tree
from numaplace.decide.discover import Discovery, assemble
from numaplace.model.errors import InputError
from numaplace.tools.cli.machine_file import read_machine, read_machine_tree
from numaplace.tools.show.matrix import matrix_text
from numaplace.tools.show.plain import plain
from numaplace.tools.show.table import table_text
from numaplace.tools.show.tree import tree_text
from numaplace.tools.topomap.machine_svg import svg_text
from numaplace.wire.topology import encode

_LIVE = "/"


def _json_text(found: Discovery) -> str:
    return msgspec.json.format(encode(found.topology, found.findings), indent=2).decode() + "\n"


VIEWS: dict[str, Callable[[Discovery], str]] = {
    "tree": tree_text,
    "table": lambda found: table_text(found.topology),
    "matrix": lambda found: matrix_text(found.topology),
    "json": _json_text,
    "svg": lambda found: svg_text(found.topology),
}


@click.command()
@click.option("--sysroot", metavar="ROOT", help="Folder or capture to read in place of /.")
@click.option("--machine", metavar="SPEC|FILE", help="A described machine, its file, a capture, or a topology file.")
@click.option("-o", "--output", type=click.Choice(list(VIEWS)), default="tree", show_default=True)
@click.option(
    "--write-tree", "folder", metavar="FOLDER", help="Write the machine's files there in place of showing it."
)
def show(sysroot: str | None, machine: str | None, output: str, folder: str | None) -> None:
    """Show this machine, a captured one, or one that is only described."""
    if sysroot is not None and machine is not None:
        raise InputError("--machine", found="--sysroot beside it", wanted="one of the two")
    if folder is not None:
        tree = read_tree(Path(sysroot or _LIVE)) if machine is None else read_machine_tree(machine)
        write_tree(tree, Path(folder))
        return
    found = assemble(read_tree(Path(sysroot or _LIVE))) if machine is None else read_machine(machine)
    click.echo(plain(VIEWS[output](found), sys.stdout.encoding), nl=False)

"""`numaplace capture -o FILE`: a machine's files into an archive that may be given away.

The archive holds what discovery reads and nothing else, so `show` says the same of it
as of the machine. docs/how-to/capture.md.
"""

from __future__ import annotations

from pathlib import Path

import click

from numaplace.adapters.sysfs import read_host_names, read_tree, write_capture
from numaplace.decide.discover import anonymised, assemble
from numaplace.model.errors import InputError
from numaplace.model.finding import FindingCode


@click.command("machine")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The archive: *.tar.gz, .tar.xz ..."
)
@click.option(
    "--sysroot", default="/", type=click.Path(path_type=Path), help="The machine's root; another folder or archive."
)
def capture_machine(output: Path, sysroot: Path) -> None:
    """Write what describes this machine to an archive, without host names, serials, GUIDs, MACs and UUIDs."""
    tree = read_tree(sysroot)
    found = assemble(tree)
    if any(finding.code is FindingCode.NOTHING_FOUND for finding in found.findings):
        raise InputError(str(sysroot), found="no machine", wanted="a root with sys/devices/system/cpu in it")
    write_capture(anonymised(tree, read_host_names(sysroot)), output)
    machine = found.topology
    click.echo(
        f"{output}: {len(tree.files)} files of a machine with {len(machine.online)} CPUs, "
        f"{len(machine.gpus)} GPUs and {len(machine.hcas)} HCAs"
    )

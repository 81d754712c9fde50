"""What `show --machine` accepts: a description, or a file or folder that holds a machine, told apart by content."""

from pathlib import Path

from numaplace.adapters.sysfs import read_tree
from numaplace.decide.discover import Discovery, Tree, assemble
from numaplace.decide.discover.describe import Description, tree_of
from numaplace.model.errors import InputError
from numaplace.tools.cli.files import STANDARD_INPUT, is_capture, read_text
from numaplace.wire.machine import parse_machine
from numaplace.wire.machine_known import KNOWN
from numaplace.wire.nccl import parse_nccl
from numaplace.wire.topology import decode


def read_machine(said: str) -> Discovery:
    """The machine that is named, described or kept in a file; InputError says what is wrong with it."""
    found = _read(said)
    return found if isinstance(found, Discovery) else assemble(found)


def read_machine_tree(said: str) -> Tree:
    """The files of that machine; InputError where only a summary of them exists."""
    found = _read(said)
    if isinstance(found, Discovery):
        return tree_of(Description(found.topology))
    return found


def _read(said: str) -> Tree | Discovery:
    if said in KNOWN:
        return tree_of(parse_machine(said))
    if is_capture(said):
        return read_tree(Path(said))
    if said == "" or (said != STANDARD_INPUT and not Path(said).exists()):
        return tree_of(_described(said))
    text = read_text(said)
    start = text.lstrip()[:1]
    if start == "<":
        return tree_of(parse_nccl(text, said))
    if start == "{" and '"v"' in text:
        return decode(text, said)
    return tree_of(parse_machine(text, said))


def _described(said: str) -> Description:
    """A description in words; a word that looks like a path is taken for a file that is missing."""
    try:
        return parse_machine(said)
    except InputError:
        if "/" in said.partition(" ")[0] or Path(said).suffix in (".yaml", ".yml", ".xml", ".json", ".tar", ".gz"):
            raise InputError(said, found="no such file", wanted="a file, a folder, or a description") from None
        raise

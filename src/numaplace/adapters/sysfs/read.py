"""From a path that a person names to the Tree of the machine there.

The path may be `/`, a folder that holds `sys` and `proc`, a folder above it, or an
archive of one of these; its content decides, not its name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from numaplace.adapters.sysfs.directory import Directory
from numaplace.adapters.sysfs.patterns import compile_patterns, file_names
from numaplace.adapters.sysfs.port import Kind, Root
from numaplace.adapters.sysfs.unpack import open_archive
from numaplace.adapters.sysfs.walk import Walk
from numaplace.decide.discover.sources import FALLBACK_PATTERNS, PATTERNS, UNREADABLE
from numaplace.decide.discover.tree import Tree
from numaplace.decide.discover.unreadable import parse_unreadable
from numaplace.model.errors import InputError

MAX_FOLDERS_ABOVE = 3  # archives wrap the root in a folder of the machine's name, some in one more

_WANTED = compile_patterns(PATTERNS)
_FALLBACK = compile_patterns(FALLBACK_PATTERNS)
_NAMES = file_names((*PATTERNS, *FALLBACK_PATTERNS))
_TOPOLOGY = re.compile(r"sys/devices/system/cpu/cpu\d+/topology/.*")


def read_tree(root: Path) -> Tree:
    """Read the files of a machine that discovery wants.

    What is there but cannot be read is a fault of the tree. InputError if `root` is
    neither a folder nor a tar archive, plain or packed by gzip, bzip2 or xz.
    """
    source, faults = _open(root)
    walk = Walk(_machine_in(source))
    walk.faults.update(faults)
    walk.along(_WANTED)
    if not any(_TOPOLOGY.match(path) for path in walk.files):
        walk.along(_FALLBACK)
    # A capture carries along what could not be read where it was taken.
    walk.faults.update(parse_unreadable(walk.files.pop(UNREADABLE, b"")))
    return walk.tree()


def _open(root: Path) -> tuple[Root, dict[str, str]]:
    try:
        if root.is_dir():
            os.scandir(root).close()
            return Directory(str(root)), {}
        if root.is_file():
            return open_archive(root, _NAMES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(str(root), found=reason, wanted="a folder or an archive that can be read") from error
    found = "something else" if root.exists() else "nothing"
    raise InputError(str(root), found=found, wanted="a folder with sys and proc in it, or a tar archive of one")


def _machine_in(root: Root) -> Root:
    """The folder that holds `sys` or `proc`: the root itself, or a lone folder in it."""
    for _ in range(MAX_FOLDERS_ABOVE):
        names = _listing(root)
        folders = [name for name, kind in names.items() if kind is Kind.FOLDER]
        if "sys" in names or "proc" in names or not folders:
            return root
        if "fsroot" in folders:
            return root.below("fsroot")
        if len(folders) > 1:
            return root
        root = root.below(folders[0])
    return root


def _listing(root: Root) -> dict[str, Kind]:
    try:
        return dict(root.listing(""))
    except OSError:
        return {}  # the walk meets it again and notes the fault

"""The names a machine goes by, so that a capture can leave them out."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from numaplace.adapters.sysfs.directory import Directory

MAX_NAME_BYTES = 1024


def read_host_names(root: Path) -> frozenset[str]:
    """The host name below `root`, whole and up to its first dot; empty where none is told."""
    names = set()
    with suppress(OSError):  # an archive, or a root without the file
        names.add(Directory(str(root)).content("etc/hostname", MAX_NAME_BYTES).decode("utf-8", "replace").strip())
    if root.resolve() == Path("/"):
        names.add(os.uname().nodename)
    return frozenset(name for whole in names for name in (whole, whole.partition(".")[0]) if name)

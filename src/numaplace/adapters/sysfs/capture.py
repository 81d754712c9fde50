"""Writing a Tree as a tar archive, byte for byte the same for equal trees.

Members are sorted, owned by root and dated 1970. Whose names may stand in it is
settled before: `decide/discover/anonymise`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import posixpath
import tarfile
from collections.abc import Callable
from pathlib import Path

from numaplace.decide.discover.sources import UNREADABLE
from numaplace.decide.discover.tree import Tree
from numaplace.decide.discover.unreadable import unreadable_text
from numaplace.model.errors import InputError

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".tar": lambda plain: plain,
    ".tar.gz": lambda plain: gzip.compress(plain, mtime=0),
    ".tgz": lambda plain: gzip.compress(plain, mtime=0),
    ".tar.bz2": bz2.compress,
    ".tar.xz": lzma.compress,
}


def write_capture(tree: Tree, path: Path) -> None:
    """Write the tree to an archive packed by its name's ending; whole, or not at all.

    InputError for an ending that is no archive's, or a place where nothing can be written.
    """
    packer = next((pack for ending, pack in PACKERS.items() if path.name.endswith(ending)), None)
    if packer is None:
        raise InputError(str(path), found="no ending of an archive", wanted=" or ".join(PACKERS))
    packed = packer(_archive(tree))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(packed)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(str(path), found=error.strerror or str(error), wanted="a place to write") from error


def _archive(tree: Tree) -> bytes:
    files = dict(tree.files)
    if tree.faults:
        files[UNREADABLE] = unreadable_text(tree.faults).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted((*files, *tree.links)):
            member = tarfile.TarInfo(name)
            if name in tree.links:
                member.type, member.mode = tarfile.SYMTYPE, 0o777
                member.linkname = posixpath.relpath(tree.links[name] or ".", posixpath.dirname(name) or ".")
                tar.addfile(member)
            else:
                member.size, member.mode = len(files[name]), 0o444
                tar.addfile(member, io.BytesIO(files[name]))
    return buffer.getvalue()

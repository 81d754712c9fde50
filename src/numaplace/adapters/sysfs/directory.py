"""A folder as a root: the live machine, an unpacked capture, a mounted /sys.

Only regular files are opened, without waiting and without following a link that
may have come up since the folder was listed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from numaplace.adapters.sysfs.port import Kind, Root

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK_BYTES = 8192  # more than a sysfs page: nearly every file comes in one piece


class Directory(Root):
    """The files below a folder of this machine."""

    def __init__(self, folder: str) -> None:
        self._base = folder.rstrip("/")

    def listing(self, folder: str) -> Mapping[str, Kind]:
        """One scan of the folder; the file types come along without a call for each."""
        with os.scandir(f"{self._base}/{folder}") as entries:
            return {entry.name: _kind(entry) for entry in entries}

    def content(self, path: str, limit: int) -> bytes:
        """Read until the end: files of /proc come in pieces and tell no size before."""
        file = os.open(f"{self._base}/{path}", _FLAGS)
        try:
            content = os.read(file, _CHUNK_BYTES)
            while piece := os.read(file, _CHUNK_BYTES):
                content += piece
                if len(content) > limit:
                    raise OSError(errno.EFBIG, f"longer than {limit} bytes")
            return content
        finally:
            os.close(file)

    def target(self, path: str) -> str:
        """The link's text, undecodable bytes escaped."""
        return os.readlink(f"{self._base}/{path}")

    def below(self, folder: str) -> Directory:
        """The folder as a root of its own."""
        return Directory(f"{self._base}/{folder}")


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_file(follow_symlinks=False):  # nearly all are, and each question costs
        return Kind.FILE
    if entry.is_dir(follow_symlinks=False):
        return Kind.FOLDER
    return Kind.LINK if entry.is_symlink() else Kind.OTHER

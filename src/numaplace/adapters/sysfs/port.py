"""The small port through which a file system is read: a folder or an archive.

Paths are relative to the root, without symbolic links in them: `walk` resolves
links itself, so that none leads out of the root.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Protocol


class Kind(Enum):
    """What a name in a folder stands for."""

    FILE = auto()
    FOLDER = auto()
    LINK = auto()
    OTHER = auto()  # pipes, sockets, devices: never opened


class Root(Protocol):
    """A file system below some folder; every method raises OSError where the thing cannot be had."""

    def listing(self, folder: str) -> Mapping[str, Kind]:
        """The names in a folder; the root itself is the empty path."""

    def content(self, path: str, limit: int) -> bytes:
        """A file's bytes; OSError EFBIG if there are more than `limit`."""

    def target(self, path: str) -> str:
        """The text of a symbolic link."""

    def below(self, folder: str) -> Root:
        """The same file system with another folder as its root."""

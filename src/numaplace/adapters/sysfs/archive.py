"""A tar archive as a root: what was kept of its members, as folders within folders.

`unpack` fills it. Nothing of an archive is ever written to a disk.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass

from numaplace.adapters.sysfs.port import Kind, Root


@dataclass(frozen=True, slots=True)
class Member:
    """Anything but a folder."""

    kind: Kind
    content: bytes | None = None  # None = not kept, because nobody wants it or it is too long
    target: str = ""  # of a link


Folder = dict[str, "Folder | Member"]


class Archive(Root):
    """The members of an archive."""

    def __init__(self, top: Folder) -> None:
        self._top = top

    def listing(self, folder: str) -> Mapping[str, Kind]:
        """The names of a folder, in the order of the archive."""
        found = self._folder(folder)
        return {name: Kind.FOLDER if isinstance(one, dict) else one.kind for name, one in found.items()}

    def content(self, path: str, limit: int) -> bytes:
        """The content that was kept."""
        found = find(self._top, path)
        if not isinstance(found, Member) or found.kind is not Kind.FILE:
            raise OSError(errno.EINVAL, "is no regular file")
        if found.content is None or len(found.content) > limit:
            raise OSError(errno.EFBIG, f"longer than {limit} bytes, or under a name that is not kept")
        return found.content

    def target(self, path: str) -> str:
        """The link's text."""
        found = find(self._top, path)
        if not isinstance(found, Member) or found.kind is not Kind.LINK:
            raise OSError(errno.EINVAL, "is no link")
        return found.target

    def below(self, folder: str) -> Archive:
        """The same archive, seen from one of its folders."""
        return Archive(self._folder(folder))

    def _folder(self, path: str) -> Folder:
        found = find(self._top, path)
        if not isinstance(found, dict):
            raise NotADirectoryError(errno.ENOTDIR, "is no folder")
        return found


def find(top: Folder, path: str) -> Folder | Member | None:
    """What stands at a path; None if nothing does. Links are not followed."""
    found: Folder | Member | None = top
    for part in filter(None, path.split("/")):
        found = found.get(part) if isinstance(found, dict) else None
    return found

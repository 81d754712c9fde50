"""Walking a root along the wanted patterns, into a Tree.

Symbolic links are resolved here, against the root that was given: an absolute target
begins there and `..` ends there. Everything is bounded; what is left out is a fault.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Mapping

from numaplace.adapters.sysfs.bounds import DEFAULT_BOUNDS, Bounds
from numaplace.adapters.sysfs.patterns import Branch
from numaplace.adapters.sysfs.port import Kind, Root
from numaplace.decide.discover.sources import max_bytes
from numaplace.decide.discover.tree import Tree

MAX_HOPS = 40  # as the kernel: more links on one path are a circle

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO})  # gone since the folder was listed


class TooMuchError(Exception):
    """A bound was reached; what was read so far stands."""


class Walk:
    """One reading of a root; its fields are those of the Tree to be."""

    def __init__(self, root: Root, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self._root, self._bounds = root, bounds
        self._listings: dict[str, Mapping[str, Kind]] = {}
        self._visited: set[tuple[int, str]] = set()
        self._names = self._bytes = 0
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.faults: dict[str, str] = {}

    def along(self, wanted: Branch) -> None:
        """Read what is wanted, starting at the root."""
        try:
            self._visit("", wanted)
        except TooMuchError as bound:
            self.faults[""] = str(bound)

    def tree(self) -> Tree:
        """What was read."""
        return Tree(files=self.files, links=self.links, faults=self.faults)

    def _visit(self, folder: str, wanted: Branch) -> None:
        if (id(wanted), folder) in self._visited:
            return  # two links lead here
        self._visited.add((id(wanted), folder))
        names = self._listing(folder)
        prefix = f"{folder}/" if folder else ""
        for choices in wanted.files:
            for name in choices:
                if name in names:
                    self._take_file(prefix + name, names[name])
                    break
        for name in names if wanted.any_link else wanted.links:
            if names.get(name) is Kind.LINK and name.isprintable():
                self._take_link(prefix + name)
        for name in wanted.folders if wanted.is_picky() else names:
            branch = wanted.below(name) if name in names else None
            if branch is not None and name.isprintable():
                self._enter(prefix + name, names[name], branch)

    def _enter(self, path: str, kind: Kind, wanted: Branch) -> None:
        if kind is Kind.LINK:
            path = self._take_link(path) or ""
            kind = (self._kind(path) if path else None) or Kind.OTHER
        elif kind is not Kind.FOLDER:
            self.faults[path] = "is no folder"
        if kind is Kind.FOLDER:
            self._visit(path, wanted)

    def _take_file(self, path: str, kind: Kind) -> None:
        if kind is Kind.LINK:
            target = self._take_link(path)
            if target is None:
                return
            path, kind = target, self._kind(target) or Kind.OTHER
        if kind is not Kind.FILE:
            self.faults[path] = "is no regular file"
        elif path not in self.files:
            self._read(path)

    def _read(self, path: str) -> None:
        try:
            content = self._root.content(path, max_bytes(path))
        except OSError as error:
            if error.errno not in _ABSENT:
                self.faults[path] = error.strerror or str(error)
            return
        self._bytes += len(content)
        if len(self.files) >= self._bounds.files or self._bytes > self._bounds.kept_bytes:
            raise TooMuchError(f"{len(self.files)} files and {self._bytes} bytes are too much: the rest was not read")
        self.files[path] = content

    def _take_link(self, path: str) -> str | None:
        """Note the link and say where it leads; None, and a fault, if nowhere."""
        try:
            target = self._resolve(path)
        except OSError as error:
            self.faults[path] = error.strerror or str(error)
            return None
        self.links[path] = target
        return target

    def _resolve(self, path: str) -> str:
        """The path without symbolic links; parts that are not there are kept as they are written."""
        left, hops = deque(path.split("/")), 0
        real: list[str] = []
        while left:
            part = left.popleft()
            if part == "..":
                del real[-1:]
            elif part not in ("", "."):
                real.append(part)
                if self._kind("/".join(real)) is not Kind.LINK:
                    continue
                hops += 1
                if hops > MAX_HOPS:
                    raise OSError(errno.ELOOP, "symbolic links lead in a circle")
                target = self._target("/".join(real))
                real = [] if target.startswith("/") else real[:-1]
                left.extendleft(reversed(target.split("/")))
        return "/".join(real)

    def _target(self, path: str) -> str:
        target = self._root.target(path)
        if not target.isprintable():
            raise OSError(errno.EILSEQ, "the link leads to a name that cannot be printed")
        return target

    def _kind(self, path: str) -> Kind | None:
        if not path:
            return Kind.FOLDER
        folder, _, name = path.rpartition("/")
        return self._listing(folder).get(name)

    def _listing(self, folder: str) -> Mapping[str, Kind]:
        if folder not in self._listings:
            try:
                names = self._root.listing(folder)
            except OSError as error:
                names = {}
                if error.errno not in _ABSENT:
                    self.faults[folder] = error.strerror or str(error)
            self._names += len(names)
            if self._names > self._bounds.names:
                raise TooMuchError(f"{self._names} names are too much: the rest was not read")
            self._listings[folder] = names
        return self._listings[folder]

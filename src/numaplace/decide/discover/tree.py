"""Tree: the files of /sys and /proc that discovery reads, as one value.

`adapters/sysfs` fills it from a live root, a directory or a capture; a described
machine writes one out. Discovery takes nothing else, so all of them are read alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tree:
    """Part of a file system; paths are relative to its root, without a leading slash.

    `links` maps a symbolic link to the path it leads to, resolved inside the root (it
    need not be there); files below a link stand under the path it leads to.
    `faults` maps a path that could not be read to the reason, in words.
    """

    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    _children: dict[str, set[str]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for path in (*self.files, *self.links, *self.faults):
            while path:
                parent, _, name = path.rpartition("/")
                names = self._children.setdefault(parent, set())
                if name in names:
                    break
                names.add(name)
                path = parent

    def follow(self, path: str) -> str:
        """The path with the symbolic links of this tree taken out; unchanged if it has none."""
        if path in self.files or not self.links:
            return path
        at = len(path)
        while at > 0:
            target = self.links.get(path[:at])
            if target is not None:
                return target + path[at:]
            at = path.rfind("/", 0, at)
        return path

    def names(self, folder: str) -> list[str]:
        """The names directly below `folder`, sorted; empty if there is no such folder."""
        return sorted(self._children.get(self.follow(folder), ()))

    def text(self, path: str) -> str | None:
        """The file as text without surrounding blanks and NUL bytes; None if it is not there."""
        content = self.files.get(self.follow(path))
        return None if content is None else content.decode("utf-8", "replace").strip(" \t\r\n\0")

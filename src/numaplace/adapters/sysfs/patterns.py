"""The list of patterns as a tree of branches, so that each folder is looked at once.

The pattern language is that of `decide/discover/sources`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Branch:
    """What is wanted in one folder."""

    folders: dict[str, Branch] = field(default_factory=dict)
    numbered: dict[tuple[str, str], Branch] = field(default_factory=dict)  # by what stands before and after the digits
    any_folder: Branch | None = None
    files: list[tuple[str, ...]] = field(default_factory=list)  # of each the first that exists
    links: list[str] = field(default_factory=list)
    any_link: bool = False

    def below(self, name: str) -> Branch | None:
        """What is wanted in the folder of this name, or None."""
        exact = self.folders.get(name)
        if exact is not None:
            return exact
        for (before, after), branch in self.numbered.items():
            digits = name[len(before) : len(name) - len(after)]
            if digits.isdecimal() and digits.isascii() and name.startswith(before) and name.endswith(after):
                return branch
        return self.any_folder

    def is_picky(self) -> bool:
        """True if every wanted folder is known by its full name."""
        return not self.numbered and self.any_folder is None


def compile_patterns(patterns: Iterable[str]) -> Branch:
    """The branches of all patterns, for the root."""
    root = Branch()
    for pattern in patterns:
        *folders, last = pattern.split("/")
        branch = root
        for name in folders:
            branch = _child(branch, name)
        if last == "*@":
            branch.any_link = True
        elif last.endswith("@"):
            branch.links.append(last[:-1])
        else:
            branch.files.append(tuple(last.split("|")))
    return root


def file_names(patterns: Iterable[str]) -> frozenset[str]:
    """Every name that a wanted file can have."""
    return frozenset(_file_names(patterns))


def _file_names(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        yield from pattern.rpartition("/")[2].split("|")


def _child(branch: Branch, name: str) -> Branch:
    if name == "*":
        branch.any_folder = branch.any_folder or Branch()
        return branch.any_folder
    if "#" in name:
        before, _, after = name.partition("#")
        return branch.numbered.setdefault((before, after), Branch())
    return branch.folders.setdefault(name, Branch())

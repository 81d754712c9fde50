"""Reading: one pass over a tree, with parsed answers and a list of what was wrong.

Every part of discovery asks it for values. A file that is not there is None; a file
that says nonsense is None too, and a Finding. Nothing here raises.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from numaplace.decide.discover.sources import CPU
from numaplace.decide.discover.tree import Tree
from numaplace.model.cpuset import MAX_CPU_ID, CpuSet
from numaplace.model.errors import InputError
from numaplace.model.finding import Finding, FindingCode

FINDINGS_OF_ONE_KIND = 40  # more of the same tell nobody anything; the rest is counted

_NUMBER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,16})")


class Reading:
    """A tree that is being read, and the findings so far."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._findings: list[Finding] = []
        # The CPUs with a folder: a list may name any number of others, about which nothing can be asked.
        self.cpu_folders = CpuSet.of(cpu for cpu in self.numbered(CPU, "cpu") if cpu <= MAX_CPU_ID)
        self._known: dict[tuple[str, bool], CpuSet | None] = {}
        for path, reason in sorted(tree.faults.items()):
            self.doubt(FindingCode.FILE_BROKEN, path, f"cannot be read: {reason}")

    def doubt(self, code: FindingCode, where: str, text: str) -> None:
        """Take down one finding."""
        self._findings.append(Finding(code, where, text))

    def findings(self) -> tuple[Finding, ...]:
        """Every finding once, by kind and place; of one kind no more than a person would read."""
        seen: Counter[FindingCode] = Counter()
        kept = []
        for finding in sorted(set(self._findings), key=lambda one: (one.code, one.where, one.text)):
            seen[finding.code] += 1
            if seen[finding.code] <= FINDINGS_OF_ONE_KIND:
                kept.append(finding)
        kept += [
            Finding(code, "", f"{count - FINDINGS_OF_ONE_KIND} more like these")
            for code, count in seen.items()
            if count > FINDINGS_OF_ONE_KIND
        ]
        return tuple(sorted(kept, key=lambda one: one.code))

    def text(self, path: str) -> str | None:
        """The file's text, stripped; None where it is not there."""
        return self.tree.text(path)

    def number(self, path: str) -> int | None:
        """A decimal number."""
        text = self.text(path)
        if text is None:
            return None
        if _NUMBER.fullmatch(text):
            return int(text)
        self._broken(path, text, "a decimal number")
        return None

    def hexadecimal(self, path: str) -> int | None:
        """A hexadecimal number, with or without 0x in front."""
        text = self.text(path)
        if text is None:
            return None
        match = _HEX.fullmatch(text)
        if match:
            return int(match[1], 16)
        self._broken(path, text, "a hexadecimal number")
        return None

    def listed(self, path: str) -> CpuSet | None:
        """CPUs or NUMA ids in list format."""
        text = self.text(path)
        return None if text is None else self._parse(path, text, is_mask=False)

    def cpus(self, folder: str, names: Sequence[str]) -> CpuSet | None:
        """The CPUs that the first of `names` tells that can be read: a list by its name, else a mask."""
        for name in names:
            path = f"{folder}/{name}"
            text = self.text(path)
            if text is None:
                continue
            cpus = self._parse(path, text, is_mask=not name.endswith("list"))
            if cpus is not None:
                return cpus
        return None

    def ids(self, path: str) -> tuple[int, ...] | None:
        """NUMA ids in list format, rising."""
        listed = self.listed(path)
        return None if listed is None else tuple(listed)

    def numbered(self, folder: str, prefix: str, suffix: str = "") -> list[int]:
        """The numbers N for which `folder` has a name prefixNsuffix, rising."""
        ends = (
            name[len(prefix) : len(name) - len(suffix)]
            for name in self.tree.names(folder)
            if _fits(name, prefix, suffix)
        )
        return sorted(
            {int(end) for end in ends if end.isascii() and end.isdigit() and len(end) < 10 and str(int(end)) == end}
        )

    def _parse(self, path: str, text: str, *, is_mask: bool) -> CpuSet | None:
        # Hundreds of CPUs say the same few sets: each text is parsed once.
        key = (text, is_mask)
        if key not in self._known:
            try:
                self._known[key] = CpuSet.parse_mask(text) if is_mask else CpuSet.parse(text)
            except InputError:
                self._known[key] = None
        if self._known[key] is None:
            self._broken(path, text, "a mask such as 3,0000000f" if is_mask else "a list such as 0-3,8")
        return self._known[key]

    def _broken(self, path: str, text: str, wanted: str) -> None:
        self.doubt(FindingCode.FILE_BROKEN, path, f"holds {text[:40]!r}, not {wanted}")


def _fits(name: str, prefix: str, suffix: str) -> bool:
    return name.startswith(prefix) and name.endswith(suffix)

"""The list of files that could not be read where a capture was taken.

It travels in the capture, so that whoever reads it finds the same faults. One a
line: path, colon, reason.
"""

from __future__ import annotations

from collections.abc import Mapping


def unreadable_text(faults: Mapping[str, str]) -> str:
    """Write the faults of a tree; empty if there are none."""
    return "".join(f"{path}: {' '.join(reason.split())}\n" for path, reason in sorted(faults.items()))


def parse_unreadable(content: bytes) -> dict[str, str]:
    """Read the faults back; a line without a colon is a path without a reason."""
    faults = {}
    for line in content.decode("utf-8", "replace").splitlines():
        path, _, reason = line.partition(": ")
        if path.isprintable() and reason.isprintable():
            faults[path] = reason
    return faults

"""Text with branches: a line, and the lines that belong to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Branch:
    """One line and what hangs below it."""

    line: str
    below: list["Branch"] = field(default_factory=list)


def draw(root: Branch) -> list[str]:
    """The lines of the whole tree; box characters join them."""
    return [root.line, *_below(root.below, "")]


def _below(branches: Sequence[Branch], indent: str) -> Iterator[str]:
    for at, branch in enumerate(branches):
        last = at == len(branches) - 1
        yield f"{indent}{'└─ ' if last else '├─ '}{branch.line}"
        yield from _below(branch.below, indent + ("   " if last else "│  "))

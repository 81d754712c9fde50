"""Columns of text, aligned and no wider than they must be."""

from collections.abc import Sequence


def grid(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> list[str]:
    """Lines with a head; columns in `right` are flush right, trailing blanks are cut."""
    table = [list(head), *map(list, rows)] if head else list(map(list, rows))
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))] if table else []
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def indented(lines: Sequence[str], by: int = 2) -> list[str]:
    """The same lines, moved to the right."""
    return [" " * by + line if line else line for line in lines]

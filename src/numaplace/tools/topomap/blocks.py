"""Pieces of a drawing that know their size, and ways to put them together.

A block draws itself from its own upper left corner; only what joins blocks moves them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

LETTER, SMALL_LETTER = 6.4, 5.2  # widths in px of a usual letter at the two sizes of STYLE
LINE, SMALL_LINE = 14.0, 11.0


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the picture; sizes in px."""

    width: float
    height: float
    body: str


EMPTY = Block(0, 0, "")


def text(words: str, css: str = "", title: str = "") -> Block:
    """One line of text; `small` in its classes makes it smaller."""
    small = "small" in css.split()
    height = SMALL_LINE if small else LINE
    named = f' class="{css}"' if css else ""
    body = f'<text{named} y="{number(height - 3)}">{_titled(title)}{escape(words)}</text>'
    return Block(len(words) * (SMALL_LETTER if small else LETTER), height, body)


def chip(words: str, css: str, *, title: str = "", least: float = 50) -> Block:
    """A small box with a word in its middle."""
    width, height = max(least, len(words) * SMALL_LETTER + 10), 24.0
    body = (
        f'<g class="{css}">{_titled(title)}<rect width="{number(width)}" height="{number(height)}" rx="3"/>'
        f'<text class="small" x="{number(width / 2)}" y="15.5" text-anchor="middle">{escape(words)}</text></g>'
    )
    return Block(width, height, body)


def beside(blocks: Iterable[Block], gap: float = 8, *, centred: bool = False) -> Block:
    """From left to right, upper edges (or middles) in line."""
    seen = list(filter(_is_seen, blocks))
    at, height, parts = 0.0, max((block.height for block in seen), default=0.0), []
    for block in seen:
        parts.append(moved(block, at, (height - block.height) / 2 if centred else 0))
        at += block.width + gap
    return Block(max(0, at - gap), height, "".join(parts))


def stacked(blocks: Iterable[Block], gap: float = 8) -> Block:
    """From top to bottom, left edges in line."""
    at, width, parts = 0.0, 0.0, []
    for block in filter(_is_seen, blocks):
        parts.append(moved(block, 0, at))
        at, width = at + block.height + gap, max(width, block.width)
    return Block(width, max(0, at - gap), "".join(parts))


def flowing(blocks: Sequence[Block], width: float, gap: float = 8) -> Block:
    """Rows of as many blocks as fit into `width`."""
    rows: list[list[Block]] = [[]]
    for block in blocks:
        used = sum(one.width + gap for one in rows[-1])
        if rows[-1] and used + block.width > width:
            rows.append([])
        rows[-1].append(block)
    return stacked((beside(row, gap) for row in rows), gap)


def columns(blocks: Sequence[Block], count: int, gap: float = 8) -> Block:
    """Rows of `count` blocks."""
    return stacked((beside(blocks[at : at + count], gap) for at in range(0, len(blocks), count)), gap)


def framed(inside: Block, css: str, caption: Block = EMPTY, pad: float = 8) -> Block:
    """A box around a block, its caption in the upper left corner."""
    content = stacked([caption, inside], 5)
    width, height = content.width + 2 * pad, content.height + 2 * pad
    box = f'<rect class="{css}" width="{number(width)}" height="{number(height)}" rx="4"/>'
    return Block(width, height, box + moved(content, pad, pad))


def widened(block: Block, width: float) -> Block:
    """The block with more room at its right."""
    return Block(max(width, block.width), block.height, block.body)


def moved(block: Block, x: float, y: float) -> str:
    """The drawing of a block at a place."""
    if not x and not y:
        return block.body
    return f'<g transform="translate({number(x)} {number(y)})">{block.body}</g>'


def number(value: float) -> str:
    """A coordinate in as few letters as it takes."""
    return f"{value:.1f}".removesuffix(".0")


def _is_seen(block: Block) -> bool:
    return bool(block.body)


def _titled(title: str) -> str:
    return f"<title>{escape(title)}</title>" if title else ""

"""One self-contained HTML page: totals, tables that work without script, and the map that is drawn by one.

Every text is escaped here and nowhere else; a content policy in the page forbids it to
load anything.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

import msgspec

from numaplace.tools.topomap.cluster_map import MapNode, map_json
from numaplace.tools.topomap.style import STYLE
from numaplace.tools.topomap.wirings import wirings

MOST_ROWS = 20_000  # of the table of Pods; the map still has all of them
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'"


@dataclass(frozen=True, slots=True)
class Tile:
    """One number that matters, with what it counts."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a heading; `note` stands below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    numbers: bool = False  # all columns but the first flush right


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page shows."""

    title: str
    summary: str
    tiles: Sequence[Tile]
    pods: Table
    tables: Sequence[Table]  # further ones: comparison, refusals
    notes: Sequence[str]
    nodes: Sequence[MapNode]


def page_text(page: Page) -> str:
    """The page as HTML text."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: Page) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(page.title)}</title>"
    yield f"<style>\n{_asset('page.css')}{STYLE}\n</style>\n</head>\n<body>"
    yield f"<header><h1>{escape(page.title)}</h1><p>{escape(page.summary)}</p></header>\n<main>"
    yield '<section class="tiles" aria-label="Totals">'
    yield from (f"<div><b>{escape(tile.value)}</b><span>{escape(tile.label)}</span></div>" for tile in page.tiles)
    yield "</section>"
    yield from _map()
    yield from _table(page.pods, id="pods")
    machines = list(wirings(page.nodes))
    if machines:
        yield '<section class="machines"><h2>How the machines are wired</h2>'
        yield from machines
        yield "</section>"
    for table in page.tables:
        yield from _table(table)
    if page.notes:
        yield '<section><h2>Notes</h2><ul class="notes">'
        yield from (f"<li>{escape(note)}</li>" for note in page.notes)
        yield "</ul></section>"
    yield f'</main>\n<script type="application/json" id="cluster">{_embedded(map_json(page.nodes))}</script>'
    yield f"<script>\n{_asset('page.js')}</script>\n</body>\n</html>"


def _map() -> Iterator[str]:
    yield '<section id="map"><h2>Nodes</h2>'
    yield '<p class="search"><label>Find a Pod or a node <input id="find" type="search" autocomplete="off"></label>'
    yield '<label class="check"><input id="busy" type="checkbox"> only nodes with Pods</label>'
    yield '<span id="found" role="status"></span></p>'
    yield '<noscript><p class="note">The drawings need JavaScript; the tables do not.</p></noscript>'
    yield '<div id="overview"></div><div id="nodes"></div></section>'


def _table(table: Table, id: str = "") -> Iterator[str]:
    """A table that can be scrolled by keyboard, its head repeated while it is."""
    name = f' id="{id}"' if id else ""
    look = ' class="numbers"' if table.numbers else ""
    yield f"<section{name}><h2>{escape(table.title)}</h2>"
    if table.rows:
        label = escape(table.title)
        yield f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table{look}><thead><tr>'
        yield from (f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
        yield "</tr></thead><tbody>"
        yield from _rows(table.rows)
        yield "</tbody></table></div>"
    if len(table.rows) > MOST_ROWS:
        yield f'<p class="note">{len(table.rows) - MOST_ROWS:,} more rows are in the JSON report.</p>'
    if table.note:
        yield f'<p class="note">{escape(table.note)}</p>'
    yield "</section>"


def _rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for count, row in enumerate(rows):
        if count == MOST_ROWS:
            return
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"


def _embedded(thing: object) -> str:
    """JSON that cannot end the element it stands in."""
    text = msgspec.json.encode(thing).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files("numaplace.tools.topomap").joinpath(name).read_text(encoding="utf-8")

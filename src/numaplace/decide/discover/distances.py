"""The distances between NUMA domains (ACPI SLIT), row by row as the kernel prints them.

A row has one number for each online domain by rising id, not by number of the
domain. Values are kept as told, also where the two directions differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import NODE
from numaplace.model.finding import FindingCode
from numaplace.model.ids import NumaId
from numaplace.model.topology import LOCAL_DISTANCE

MAX_DISTANCE = 255  # one byte in the SLIT; means unreachable

_ROW = re.compile(r"\d{1,3}(?:\s+\d{1,3})*", re.ASCII)

Row = dict[NumaId, int]


def assemble_distances(reading: Reading, ids: Sequence[NumaId]) -> dict[NumaId, Row]:
    """The told distances from each domain to each; a row that makes no sense is empty."""
    columns = _columns_by_count(reading, ids)
    rows = {id: _row(reading, id, columns, frozenset(ids)) for id in ids}
    silent = [id for id in ids if reading.text(f"{NODE}/node{id}/distance") is None]
    if silent and len(ids) > 1:
        text = f"NUMA domains {', '.join(map(str, silent))} tell no distances"
        reading.doubt(FindingCode.DISTANCE_MISSING, NODE, text)
    _doubt_asymmetry(reading, rows)
    return rows


def _columns_by_count(reading: Reading, ids: Sequence[NumaId]) -> dict[int, Sequence[int]]:
    """Which domains a row of a certain length speaks of: the online ones, else all possible ones."""
    possible = reading.ids(f"{NODE}/possible") or ()
    online = reading.ids(f"{NODE}/online") or ()
    return {len(columns): columns for columns in (possible, online, ids)}


def _row(reading: Reading, id: NumaId, columns: Mapping[int, Sequence[int]], known: frozenset[NumaId]) -> Row:
    path = f"{NODE}/node{id}/distance"
    text = reading.text(path)
    if text is None:
        return {}
    if _ROW.fullmatch(text) is None:
        reading.doubt(FindingCode.FILE_BROKEN, path, f"holds {text[:40]!r}, not distances such as 10 21")
        return {}
    values = [int(word) for word in text.split()]
    if len(values) not in columns:
        text = f"holds {len(values)} distances, but there are {len(known)} domains: not used"
        reading.doubt(FindingCode.DISTANCE_ODD, path, text)
        return {}
    row = {NumaId(column): value for column, value in zip(columns[len(values)], values, strict=True) if column in known}
    return _believable(reading, path, id, row)


def _believable(reading: Reading, path: str, id: NumaId, row: Row) -> Row:
    """The row without values that no SLIT can hold; what is merely odd is kept and doubted."""
    if row.get(id, LOCAL_DISTANCE) != LOCAL_DISTANCE:
        text = f"NUMA domain {id} is {row[id]} from itself, not {LOCAL_DISTANCE}"
        reading.doubt(FindingCode.DISTANCE_ODD, path, text)
    near = [other for other, value in row.items() if other != id and value <= LOCAL_DISTANCE]
    if near:
        text = f"NUMA domains {', '.join(map(str, near))} are as near to {id} as it is to itself"
        reading.doubt(FindingCode.DISTANCE_ODD, path, text)
    absurd = [other for other, value in row.items() if not 0 < value <= MAX_DISTANCE]
    if absurd:
        text = f"the distances to NUMA domains {', '.join(map(str, absurd))} are not in 1..{MAX_DISTANCE}: not used"
        reading.doubt(FindingCode.DISTANCE_ODD, path, text)
    return {other: value for other, value in row.items() if 0 < value <= MAX_DISTANCE}


def _doubt_asymmetry(reading: Reading, rows: Mapping[NumaId, Row]) -> None:
    pairs = [(a, b) for a, row in rows.items() for b in row if a < b and rows[b].get(a, row[b]) != row[b]]
    if pairs:
        a, b = pairs[0]
        text = f"{len(pairs)} pairs differ by direction, such as {rows[a][b]} from {a} to {b} and {rows[b][a]} back"
        reading.doubt(FindingCode.DISTANCE_ODD, NODE, text)

"""Rows of trace files: CSV with a header, or one JSON object a line, with bounds and good complaints."""

import csv
import json
import math
import re
from collections.abc import Iterator

from numaplace.model.errors import InputError
from numaplace.wire.strict import LONGEST_NAME, shown

MAX_ROWS = 1_000_000
MAX_HEADER = 10_000  # characters

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)

Row = dict[str, str]


def columns_of(text: str) -> list[str]:
    """The names in the first line of a CSV text."""
    return [name.strip() for name in text.partition("\n")[0][:MAX_HEADER].split(",")]


def csv_rows(text: str, where: str) -> Iterator[tuple[Row, str]]:
    """Each row by column, and where it stands; InputError names the line."""
    reader = csv.reader(text.splitlines())
    try:
        columns = [name.strip() for name in next(reader)]
        if len(set(columns)) < len(columns):
            raise InputError(f"{where}: line 1", found="a column twice", wanted="each column once")
        for count, cells in enumerate(reader, start=1):
            at = f"{where}: line {reader.line_num}"
            if count > MAX_ROWS:
                raise InputError(at, found=f"more than {MAX_ROWS} rows", wanted="a shorter trace")
            if not cells:
                continue
            if len(cells) != len(columns):
                raise InputError(at, found=f"{len(cells)} fields", wanted=f"{len(columns)}, as the first line has")
            yield dict(zip(columns, (cell.strip() for cell in cells), strict=True)), at
    except csv.Error as error:
        raise InputError(f"{where}: line {reader.line_num}", found=str(error)[:120], wanted="CSV") from error


def json_rows(text: str, where: str) -> Iterator[tuple[dict[str, object], str]]:
    """Each object, and where it stands; InputError names the line."""
    for number, line in enumerate(text.splitlines(), start=1):
        at = f"{where}: line {number}"
        if number > MAX_ROWS:
            raise InputError(at, found=f"more than {MAX_ROWS} lines", wanted="a shorter trace")
        if not line.strip():
            continue
        try:
            thing = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(at, found=shown(line), wanted="one JSON object a line") from error
        if not isinstance(thing, dict):
            raise InputError(at, found=shown(thing), wanted="a JSON object")
        yield thing, at


def number(text: str, where: str, least: float, most: float) -> float:
    """A finite number within bounds; InputError names `where`."""
    found = float(text) if len(text) <= 40 and _NUMBER.fullmatch(text) else math.nan
    if not least <= found <= most:
        raise InputError(where, found=shown(text), wanted=f"a number, {least:g}..{most:g}")
    return found


def whole(text: str, where: str, least: int, most: int) -> int:
    """A whole number within bounds, also written as 2.0; InputError names `where`."""
    found = number(text, where, least, most)
    if not found.is_integer():
        raise InputError(where, found=shown(text), wanted=f"a whole number, {least}..{most}")
    return int(found)


def name_in(text: str, where: str) -> str:
    """A name that can stand in a line of a report; InputError names `where`."""
    if not text or not text.isprintable() or len(text) > LONGEST_NAME:
        wanted = f"a name of 1 to {LONGEST_NAME} characters that can be printed"
        raise InputError(where, found=shown(text), wanted=wanted)
    return text

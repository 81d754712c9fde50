"""JSON text into plain documents, double keys refused: the quick way for `kubectl -o json`.

Used by `wire.yaml_text` for text that begins like JSON; what turns out to be no JSON
is given back to the YAML reader.
"""

import json
import re

from numaplace.model.errors import InputError
from numaplace.wire.strict import ascii_safe

_SURELY_JSON = re.compile(r'[\ufeff\s\[]*\{\s*"')
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def load_json(text: str, where: str) -> list[object] | None:
    """The JSON values that follow one another in the text; None if it is no JSON."""

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            keys = [key for key, _ in pairs]
            double = next(key for key in keys if keys.count(key) > 1)
            raise InputError(where, found=ascii_safe(f"the key {double[:60]!r} twice"), wanted="each key once")
        return mapping

    def constant(name: str) -> object:
        raise InputError(where, found=name, wanted="a number that JSON knows")

    decoder = json.JSONDecoder(object_pairs_hook=members, parse_constant=constant)
    documents: list[object] = []
    position = _skip_space(text, 1 if text.startswith("\ufeff") else 0)
    try:
        while position < len(text):
            value, end = decoder.raw_decode(text, position)
            documents.append(value)
            position = _skip_space(text, end)
    except json.JSONDecodeError as error:
        if documents or not _SURELY_JSON.match(text):  # after a first value YAML documents may follow
            return None
        raise InputError(f"{where}: line {error.lineno}", found="broken JSON", wanted=f"JSON ({error.msg})") from error
    except RecursionError as error:
        raise InputError(where, found="JSON nested too deep", wanted="a document of a usual depth") from error
    except ValueError as error:
        raise InputError(where, found="a number of thousands of digits", wanted="a usual number") from error
    _refuse_lone_surrogates(text, documents, where)
    return documents


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _refuse_lone_surrogates(text: str, documents: list[object], where: str) -> None:
    """Half a character as an escape would break whoever prints or stores the text later."""
    if not _ESCAPED_SURROGATE.search(text):
        return
    try:
        json.dumps(documents, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(where, found="half of a surrogate pair", wanted="whole characters") from error

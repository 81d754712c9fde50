"""Annotations whose value is a JSON object: read to the letter, judged later by `decide/admit`.

`json` keeps double keys and the order, which a typed decoder would hide; both
matter to a person who is told what is wrong.
"""

import json
from collections.abc import Mapping

from numaplace.model.keys import JSON_KEYS
from numaplace.model.pod import JsonDocument, JsonField
from numaplace.wire.strict import ascii_safe, shown

MAX_CHARACTERS = 262_144  # all annotations of one object together (API server limit)


class _Members(list[tuple[str, object]]):
    """The members of one JSON object, double keys kept."""


def read_documents(annotations: Mapping[str, str]) -> dict[str, JsonDocument]:
    """The JSON annotations among `annotations`; text that is no object becomes a fault, never an error."""
    return {key: _document(annotations[key]) for key in JSON_KEYS if key in annotations}


def _document(text: str) -> JsonDocument:
    if len(text) > MAX_CHARACTERS:
        return JsonDocument(fault=f"found {len(text)} characters; expected a small JSON object")
    try:
        thing = json.loads(text, object_pairs_hook=_Members, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "not JSON"
        return JsonDocument(fault=f"found {shown(text)} ({reason}); expected a JSON object")
    if not isinstance(thing, _Members):
        return JsonDocument(fault=f"found {shown(text)}; expected a JSON object")
    return JsonDocument(tuple(_field(key, value) for key, value in thing))


def _field(key: str, value: object) -> JsonField:
    if isinstance(value, str):
        return JsonField(ascii_safe(key), ascii_safe(value))
    if isinstance(value, list):  # a list, or the members of an inner object
        return JsonField(ascii_safe(key), "an object" if isinstance(value, _Members) else "a list", is_text=False)
    return JsonField(ascii_safe(key), json.dumps(value), is_text=False)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")

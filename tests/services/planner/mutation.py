"""Recorded JSON with something odd done to it: fields gone, doubled, of another kind, spelt another way, bytes cut."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 2**63, 10**400, 1.5, "", " ", "0", "-1", "1e999", "9" * 80, "\x00", "🦀", "a" * 5000, "n1", [],
    {}, [None], [[]], {"": None}, {"a": {"a": {}}}, ["n1"] * 50, "required", "SingleNUMANode", "numaplace.dev/plan",
)  # fmt: skip


def mutated(thing: Any, draw: Random) -> Any:
    """A copy in which one to four places are odd."""
    thing = copy.deepcopy(thing)
    for _ in range(draw.randint(1, 4)):
        places = list(_places(thing))
        if not places:
            break
        holder, key = draw.choice(places)
        _change(holder, key, draw)
    return thing


def as_bytes(thing: Any, draw: Random) -> bytes:
    """As JSON, now and then with a piece cut out, doubled, or overwritten."""
    text = json.dumps(thing).encode()
    if draw.random() > 0.1:
        return text
    start = draw.randrange(len(text))
    end = min(len(text), start + draw.randint(0, 40))
    middle = draw.choice((b"", text[start:end] * 2, b"\xff", b"[" * 2000, b'"', b"\\ud800"))
    return text[:start] + middle + text[end:]


def _places(thing: Any) -> Iterator[tuple[Any, Any]]:
    """Every member of every object and list."""
    if isinstance(thing, dict | list):
        for key in list(thing) if isinstance(thing, dict) else range(len(thing)):
            yield thing, key
            yield from _places(thing[key])


def _change(holder: Any, key: Any, draw: Random) -> None:
    match draw.choice(("odd", "odd", "gone", "spelt", "doubled")):
        case "odd":
            holder[key] = copy.deepcopy(draw.choice(ODD))
        case "gone":
            del holder[key]
        case "spelt" if isinstance(holder, dict):
            holder[draw.choice((str.upper, str.lower, str.title))(key)] = holder.pop(key)
        case "doubled" if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))

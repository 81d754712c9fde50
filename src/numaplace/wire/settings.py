"""What a planner says of how it is set up: one annotation of the Lease it holds, compact JSON.

Those who look at the cluster read it, so that they see what the planner sees. Planners of
other versions are understood as far as they say the same: fields that are not known are
passed over, fields that are missing have their default. docs/reference/planner.md
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from numaplace.model.settings import Settings
from numaplace.wire.strict import convert, decode_json

_SILENT = "silent-s"


@dataclass(frozen=True, slots=True)
class Told:
    """A planner's settings, and after how many seconds of silence it calls a report stale."""

    settings: Settings
    silent_s: float


class _Silent(msgspec.Struct, rename="kebab"):
    silent_s: float


def encode(told: Told) -> str:
    """The annotation's text."""
    said = {**_renamed(msgspec.to_builtins(told.settings), "_", "-"), _SILENT: told.silent_s}
    return msgspec.json.encode(said).decode()


def decode(text: str, where: str) -> Told:
    """What the annotation says; InputError where it is not of this form."""
    said = decode_json(text, dict[str, Any], where)
    return Told(convert(_renamed(said, "-", "_"), Settings, where), convert(said, _Silent, where).silent_s)


def _renamed(thing: Any, old: str, new: str) -> Any:
    """Names of fields as the language has them, or as JSON has them here."""
    if not isinstance(thing, dict):
        return thing
    return {key.replace(old, new): _renamed(value, old, new) for key, value in thing.items()}

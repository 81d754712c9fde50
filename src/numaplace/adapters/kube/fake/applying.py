"""Server-side apply: who owns which field, as far as managers that apply are concerned.

Fields that were written otherwise belong to nobody here; lists are owned as a whole.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

from numaplace.adapters.kube.fake import refusals

Path = tuple[str, ...]
_NAMES = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


@dataclass(slots=True)
class Owners:
    """The fields of one object by manager."""

    fields: dict[str, set[Path]] = field(default_factory=dict)

    def apply(self, old: dict[str, Any], intent: dict[str, Any], manager: str, *, force: bool) -> dict[str, Any]:
        """The object after the intent; a refusal if another manager owns a field that would change."""
        wanted = dict(_leaves(intent))
        for other, owned in self.fields.items():
            if other == manager:
                continue
            taken = {path for path in owned & wanted.keys() if _at(old, path) != wanted[path]}
            if taken and not force:
                where = ", ".join("." + ".".join(path) for path in sorted(taken))
                raise refusals.RefusalError(
                    409, "Conflict", f'Apply failed with 1 conflict: conflict with "{other}": {where}'
                )
            owned -= taken
        new = copy.deepcopy(old)
        for path in self.fields.get(manager, set()) - wanted.keys():
            if not any(path in owned for other, owned in self.fields.items() if other != manager):
                _remove(new, path)
        self.fields[manager] = set(wanted)
        for path, value in wanted.items():
            _set(new, path, value)
        return new


def _leaves(thing: dict[str, Any], path: Path = ()) -> list[tuple[Path, Any]]:
    found: list[tuple[Path, Any]] = []
    for name, value in thing.items():
        here = (*path, name)
        if isinstance(value, dict) and value:
            found += _leaves(value, here)
        elif here not in _NAMES:
            found.append((here, value))
    return found


def _at(thing: Any, path: Path) -> Any:
    for name in path:
        thing = thing.get(name) if isinstance(thing, dict) else None
    return thing


def _set(thing: dict[str, Any], path: Path, value: Any) -> None:
    for name in path[:-1]:
        thing = thing.setdefault(name, {})
    thing[path[-1]] = copy.deepcopy(value)


def _remove(thing: dict[str, Any], path: Path) -> None:
    """Take the field away, and the mappings that are empty then."""
    if len(path) > 1 and isinstance(thing.get(path[0]), dict):
        _remove(thing[path[0]], path[1:])
        if not thing[path[0]]:
            del thing[path[0]]
    elif len(path) == 1:
        thing.pop(path[0], None)

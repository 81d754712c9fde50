"""YAML and JSON text into plain objects: the one door for everything a person writes.

libyaml parses; here stand the limits it lacks (size, depth, aliases that multiply)
and the traps of YAML 1.1 it has: `47:00.0` is a PCI address and not a number to base
60, a date is text. `yes`, `on` and octal `0644` stay what Kubernetes' parser makes of them.
"""

import re
from collections.abc import Hashable, Iterable
from typing import Any

import yaml

from numaplace.model.errors import InputError
from numaplace.wire.json_text import load_json

MAX_CHARACTERS = 100_000_000
MAX_DEPTH = 100
MAX_VALUES = 1_000_000  # in all documents, after aliases are followed

_LIKE_JSON = re.compile(r"[\ufeff \t\r\n]*[{\[]")
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null")}
_INT = r"[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+"
_EXPONENT = r"(?:[eE][-+][0-9]+)?"
_FLOAT = rf"[-+]?[0-9][0-9_]*\.[0-9_]*{_EXPONENT}|\.[0-9][0-9_]*{_EXPONENT}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"


def load_documents(text: str, where: str) -> list[object]:
    """Every document of a YAML or JSON text, as dicts, lists and scalars; empty documents are left out.

    InputError names `where`, the document and the line. Refused: more than 100 MB of YAML, more
    than 100 levels or 1 million values, an alias inside its own value, a key twice in one
    mapping, tags that would build anything but plain values.
    """
    if _LIKE_JSON.match(text):
        documents = load_json(text, where)
        if documents is not None:
            return documents
    if len(text) > MAX_CHARACTERS:
        raise InputError(where, found=f"{len(text)} characters", wanted=f"at most {MAX_CHARACTERS}")
    try:
        _check(yaml.parse(text, Loader=yaml.CSafeLoader), where)
        return [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except yaml.MarkedYAMLError as error:
        raise _complaint(error, where) from error
    except yaml.YAMLError as error:
        raise InputError(where, found=str(error).replace("\n", " ")[:120], wanted="YAML text") from error
    except UnicodeError as error:
        raise InputError(where, found="half of a surrogate pair", wanted="whole characters") from error
    except ValueError as error:  # a number too long to read
        raise InputError(where, found=str(error)[:120], wanted="values of a usual size") from error


class _Loader(yaml.CSafeLoader):
    """libyaml with plain values only, each key once."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag != "tag:yaml.org,2002:merge":
                key = (key_node.tag, key_node.value)
                if key in seen:
                    problem = f"the key {key_node.value[:40]!r} twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
                seen.add(key)
        return super().construct_mapping(node, deep)


def _resolvers() -> dict[Any, list[tuple[str, re.Pattern[str]]]]:
    changed = {"int": re.compile(f"(?:{_INT})$"), "float": re.compile(f"(?:{_FLOAT})$")}
    kept: dict[Any, list[tuple[str, re.Pattern[str]]]] = {}
    for first, rows in yaml.CSafeLoader.yaml_implicit_resolvers.items():
        named = [(tag, tag.rpartition(":")[2], pattern) for tag, pattern in rows]
        kept[first] = [(tag, changed.get(name, p)) for tag, name, p in named if name not in ("timestamp", "value")]
    return kept


_Loader.yaml_implicit_resolvers = _resolvers()


def _check(events: Iterable[Any], where: str) -> None:
    """Refuse what would take too much to build, before anything is built."""
    document, budget = 0, _Budget(where)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            document += 1
            budget = _Budget(f"{where}: document {document}", budget.values)
        elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            budget.spend(event)


class _Budget:
    """Counts values up to one document, those that aliases repeat included."""

    def __init__(self, where: str, values: int = 0) -> None:
        self.where, self.values = where, values
        self.open: list[tuple[str | None, int]] = []  # anchor of each open collection, and the count when it began
        self.sizes: dict[str, int | None] = {}  # None while the anchored value is still open

    def spend(self, event: Any) -> None:
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self.open.pop()
            self._anchor(anchor, self.values - before)
            return
        self._take(event)
        if self.values > MAX_VALUES:
            self._refuse(event, f"more than {MAX_VALUES} values", "fewer, also after aliases are followed")

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            name = event.anchor or ""
            size = self.sizes.get(name, 0)
            if size is None:
                self._refuse(event, f"the alias *{name[:40]} inside its own value", "a value that ends")
            self.values += size or 0
            return
        self.values += 1
        if event.tag is not None and event.tag not in _PLAIN_TAGS:
            self._refuse(event, f"the tag {event.tag[:60]}", "plain values")
        if isinstance(event, yaml.CollectionStartEvent):
            self.open.append((event.anchor, self.values - 1))
            self._anchor(event.anchor, None)
            if len(self.open) > MAX_DEPTH:
                self._refuse(event, f"more than {MAX_DEPTH} levels", "a flatter document")
        else:
            self._anchor(event.anchor, 1)

    def _anchor(self, name: str | None, size: int | None) -> None:
        if name is not None:
            self.sizes[name] = size

    def _refuse(self, event: Any, found: str, wanted: str) -> None:
        raise InputError(f"{self.where}, line {event.start_mark.line + 1}", found=found, wanted=wanted)


def _complaint(error: yaml.MarkedYAMLError, where: str) -> InputError:
    mark = error.problem_mark
    place = f"{where}, line {mark.line + 1}" if mark else where
    return InputError(place, found=(error.problem or "broken text")[:120], wanted="YAML that can be read")

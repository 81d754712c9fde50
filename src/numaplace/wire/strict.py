"""Untyped objects (from JSON or YAML) into typed ones, or a sentence that names the field.

All decoders of objects with a schema use this, so that a mistake reads the same
wherever it was made. msgspec does the work; here its complaint is put into words.
"""

import re
from typing import Any, TypeVar

import msgspec

from numaplace.model.errors import InputError

T = TypeVar("T")

LONGEST_NAME = 253  # of an object (DNS subdomain)
LONGEST_LABEL = 63  # of a namespace or a container (DNS label)

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_AT = re.compile(r" - at `(?:key in )?(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_WORDS = {
    "str": "text (in quotes where it looks like a number, true or false)",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a mapping",
    "array": "a list",
}


def convert(thing: object, kind: type[T], where: str) -> T:
    """Turn plain dicts, lists and scalars into `kind`; InputError names the field inside `where`."""
    try:
        return msgspec.convert(thing, kind)
    except msgspec.ValidationError as error:
        raise _complaint(str(error), thing, where) from error
    except RecursionError as error:
        raise InputError(where, found="an object nested too deep", wanted="an object of a usual depth") from error
    except UnicodeError as error:
        raise InputError(where, found="half of a surrogate pair", wanted="whole characters") from error


def read_name(name: str, where: str, longest: int = LONGEST_NAME) -> str:
    """A name as Kubernetes allows it: lower-case letters, digits, `-` and `.`; InputError on anything else."""
    if len(name) > longest or not _NAME.fullmatch(name):
        legal = f"at most {longest} lower-case letters, digits, - and ., beginning and ending with a letter or digit"
        raise InputError(where, found=shown(name) if name else "nothing", wanted=legal)
    return name


def decode_json(text: str | bytes, kind: type[T], where: str) -> T:
    """Parse JSON text into `kind`; InputError names the field inside `where`."""
    try:
        thing = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(where, found=shown(text), wanted=f"JSON ({str(error)[:120]})") from error
    return convert(thing, kind, where)


def shown(value: object) -> str:
    """What stood there, short enough for a sentence and safe to print."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, str | bytes):
        return ascii_safe(repr(value[:60])) + ("…" if len(value) > 60 else "")
    return ascii_safe(str(value)[:60]) if not isinstance(value, int) or abs(value) < 10**60 else "a huge number"


def ascii_safe(text: str) -> str:
    """The text with lone surrogates, which no terminal can print, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _complaint(message: str, thing: object, where: str) -> InputError:
    match = _AT.search(message)
    path = match["path"] if match else "$"
    text = message[: match.start()] if match else message
    steps, value = _follow(path, thing)
    field = ascii_safe(f"{where}: {steps.lstrip('.')}" if steps else where)
    missing = re.fullmatch(r"Object missing required field `(.*)`", text)
    if missing:
        return InputError(f"{field}{'.' if steps else ': '}{missing[1]}", found="nothing", wanted="this field")
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", text)
    if unknown:
        return InputError(field, found=f"the unknown field {unknown[1]!r}", wanted="only fields of this version")
    kinds = re.match(r"Expected `([^`]*)`, got", text)
    wanted = " or ".join(_WORDS.get(kind, kind) for kind in kinds[1].split(" | ")) if kinds else text
    return InputError(field, found=_found(value), wanted=wanted.removeprefix("Expected "))


def _follow(path: str, thing: Any) -> tuple[str, Any]:
    """The path in words of the document, and what stands at its end; a mapping's culprit is looked for."""
    steps = ""
    for name, index in _STEP.findall(path):
        if index == "...":
            key, thing = _odd_member(thing)
            steps += f"[{shown(key)}]"
        elif index:
            thing = thing[int(index)] if isinstance(thing, list | tuple) and int(index) < len(thing) else None
            steps += f"[{index}]"
        else:
            thing = thing.get(name) if isinstance(thing, dict) else None
            steps += f".{name}"
    return steps, thing


def _odd_member(mapping: Any) -> tuple[Any, Any]:
    """The first member of a mapping of texts that is no text; msgspec does not say which it was."""
    members = list(mapping.items()) if isinstance(mapping, dict) else []
    for key, value in members:
        if not isinstance(key, str) or not isinstance(value, str):
            return key, value
    return members[0] if members else ("?", None)


def _found(value: object) -> str:
    kind = {str: "text", int: "the number", float: "the number"}.get(type(value), "")
    return f"{kind} {shown(value)}".strip()

"""The four ways to change a part of an object, each with its content type and its options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Patch:
    """A change, ready to be sent."""

    content_type: str
    body: bytes
    query: Mapping[str, str] = field(default_factory=dict)


def strategic(change: Mapping[str, Any]) -> Patch:
    """Lists are merged by the key that their type names, like conditions by `type`; not for custom resources."""
    return Patch("application/strategic-merge-patch+json", msgspec.json.encode(change))


def merge(change: Mapping[str, Any]) -> Patch:
    """Mappings are merged, null deletes, lists are replaced as a whole (RFC 7386)."""
    return Patch("application/merge-patch+json", msgspec.json.encode(change))


def json_patch(steps: Sequence[Mapping[str, Any]]) -> Patch:
    """Steps in order, all or none; `test` steps make it conditional (RFC 6902)."""
    return Patch("application/json-patch+json", msgspec.json.encode(steps))


def apply(intent: Mapping[str, Any], *, manager: str, force: bool = False) -> Patch:
    """Server-side apply: `intent` is all that `manager` wants to own, apiVersion, kind and name included.

    Creates what is not there; what the manager owned and no longer names is removed.
    Fields of another manager are a ConflictError, unless `force` takes them over.
    """
    query = {"fieldManager": manager, **({"force": "true"} if force else {})}
    return Patch("application/apply-patch+yaml", msgspec.json.encode(intent), query)

"""Writing events that people see in `kubectl describe`; when and which is decided elsewhere."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from numaplace.adapters.kube.client import Kube
from numaplace.adapters.kube.errors import AnswerLostError, BusyError, ConflictError
from numaplace.adapters.kube.resources import EVENTS, Resource

_LONGEST_NOTE = 1024  # the API server refuses more
_TAIL = " ..."


class EventType(StrEnum):
    """How bad it is; Kubernetes knows these two."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class About:
    """The object that an event is about; `namespace` is empty for objects of the cluster."""

    resource: Resource
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who says it: a component like `numaplace.dev/planner`, and which of its processes."""

    controller: str
    instance: str


async def post_event(
    kube: Kube, about: About, reporter: Reporter, *, kind: EventType, reason: str, action: str, note: str, at_s: float
) -> None:
    """Say once that at `at_s` (seconds since 1970) `reason` happened to an object.

    Posting the same again is no second event, so a lost answer may be followed by
    another call. A note that is too long for the API server is cut.
    """
    namespace = about.namespace or "default"  # where events on objects of the cluster live
    body = {
        "metadata": {"name": _name(about, reason, at_s), "namespace": namespace},
        "eventTime": datetime.fromtimestamp(at_s, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance,
        "action": action,
        "reason": reason,
        "type": kind.value,
        "note": _cut(note),
        "regarding": {
            "apiVersion": about.resource.api_version,
            "kind": about.resource.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
    }
    for last in (False, True):
        try:
            await kube.create(EVENTS, body, namespace)
        except ConflictError:
            return
        except (AnswerLostError, BusyError):
            if last:
                raise
        else:
            return


def _name(about: About, reason: str, at_s: float) -> str:
    digest = hashlib.sha256(f"{about.uid}\0{reason}\0{at_s:.6f}".encode()).hexdigest()[:16]
    return f"{about.name[:230]}.{digest}"


def _cut(note: str) -> str:
    if len(note.encode()) <= _LONGEST_NOTE:
        return note
    return note.encode()[: _LONGEST_NOTE - len(_TAIL)].decode("utf-8", "ignore") + _TAIL

"""Reading and writing a Lease; who may take it, and when, is decided by the elector in `services`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from numaplace.adapters.kube.client import Kube
from numaplace.adapters.kube.errors import NotFoundError
from numaplace.adapters.kube.objects import Key
from numaplace.adapters.kube.resources import LEASES
from numaplace.wire.pod_object import Metadata


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds something, since when, and for how long it is good without renewal."""

    holder: str
    duration_s: int
    acquired_s: float  # seconds since 1970, by the holder's clock
    renewed_s: float
    transitions: int = 0  # how often it went to another holder
    version: str = ""  # of the object that was read; empty: there was none
    notes: Mapping[str, str] = field(default_factory=dict)  # annotations


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class _Object(msgspec.Struct):
    metadata: Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)


async def read_lease(kube: Kube, key: Key) -> Lease | None:
    """The Lease as it is, or None where there is none."""
    try:
        return _lease(await kube.get(LEASES, key.name, key.namespace))
    except NotFoundError:
        return None


async def write_lease(kube: Kube, key: Key, lease: Lease) -> Lease:
    """Write the Lease over the version it was read as, or create it; the answer carries the new version.

    ConflictError when somebody else wrote in between, and when an answer was lost on
    the way: read it again to see whose it is.
    """
    metadata: dict[str, object] = {"name": key.name, "namespace": key.namespace, "annotations": dict(lease.notes)}
    body = {
        "metadata": metadata,
        "spec": {
            "holderIdentity": lease.holder,
            "leaseDurationSeconds": lease.duration_s,
            "acquireTime": _time(lease.acquired_s),
            "renewTime": _time(lease.renewed_s),
            "leaseTransitions": lease.transitions,
        },
    }
    if not lease.version:
        return _lease(await kube.create(LEASES, body, key.namespace))
    metadata["resourceVersion"] = lease.version
    return _lease(await kube.replace(LEASES, key.name, body, key.namespace))


def _lease(body: bytes) -> Lease:
    found = msgspec.json.decode(body, type=_Object)
    spec = found.spec
    return Lease(
        holder=spec.holder_identity or "",
        duration_s=spec.lease_duration_seconds or 0,
        acquired_s=spec.acquire_time.timestamp() if spec.acquire_time else 0.0,
        renewed_s=spec.renew_time.timestamp() if spec.renew_time else 0.0,
        transitions=spec.lease_transitions or 0,
        version=found.metadata.resource_version or "",
        notes=found.metadata.annotations or {},
    )


def _time(seconds: float) -> str:
    """MicroTime, as Leases have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

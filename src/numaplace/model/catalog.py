"""Catalog: what the node rules look up beside nodes and Pods: namespaces, claims and volumes.

The planner keeps one by watching, a simulation reads it from a capture; where there is
none, only the rules that need it are left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from numaplace.model.rules import NodeTerm

NAMESPACE_NAME = "kubernetes.io/metadata.name"  # the label that every namespace has
ZONE_LABELS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace and its labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim."""

    namespace: str
    name: str
    volume: str = ""  # the volume it names; it is bound only where `bound` says so
    bound: bool = False
    lost: bool = False  # its volume is gone
    leaving: bool = False  # being deleted
    storage_class: str = ""
    alone: bool = False  # ReadWriteOncePod
    node: str = ""  # where the scheduler has chosen to have the volume made


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume."""

    name: str
    terms: tuple[NodeTerm, ...] | None = None  # one must match the node; None: it is on every node
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()  # label of zone or region, and its values


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass; `waits` where volumes are bound only when the Pod has a node (WaitForFirstConsumer)."""

    name: str
    waits: bool = False


Entry = Namespace | Claim | Volume | StorageClass


@dataclass(frozen=True, slots=True)
class Catalog:
    """All there is, by name; claims by namespace and name."""

    claims: Mapping[tuple[str, str], Claim] = field(default_factory=dict)
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)


def catalog_of(entries: Iterable[Entry]) -> Catalog:
    """The catalog of these; of two with one name the later counts."""
    entries = tuple(entries)
    return Catalog(
        {(one.namespace, one.name): one for one in entries if isinstance(one, Claim)},
        {one.name: one for one in entries if isinstance(one, Volume)},
        {one.name: one for one in entries if isinstance(one, StorageClass)},
    )

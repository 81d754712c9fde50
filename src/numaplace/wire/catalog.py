"""Namespaces, claims, volumes and storage classes as the API server shows them, into entries of the catalog.

Only what the node rules look up is read.
"""

from collections.abc import Mapping

import msgspec

from numaplace.model.catalog import ZONE_LABELS, Claim, Entry, Namespace, StorageClass, Volume
from numaplace.model.errors import located
from numaplace.model.rules import NodeTerm
from numaplace.wire.pod_object import Metadata, NodeSelector, Part
from numaplace.wire.pod_rules import read_node_terms
from numaplace.wire.strict import convert

_BOUND = "pv.kubernetes.io/bind-completed"
_CHOSEN_NODE = "volume.kubernetes.io/selected-node"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_BETWEEN_ZONES = "__"  # how a volume's label names several
READ_ANNOTATIONS = (_BOUND, _CHOSEN_NODE, _OLD_CLASS)


class NamespaceObject(Part):
    """A Namespace."""

    metadata: Metadata


class _ClaimSpec(Part):
    volume_name: str | None = None
    storage_class_name: str | None = None
    access_modes: list[str] | None = None


class _Phase(Part):
    phase: str | None = None


class ClaimObject(Part):
    """A PersistentVolumeClaim."""

    metadata: Metadata
    spec: _ClaimSpec = msgspec.field(default_factory=_ClaimSpec)
    status: _Phase = msgspec.field(default_factory=_Phase)


class _VolumeAffinity(Part):
    required: NodeSelector | None = None


class _VolumeSpec(Part):
    node_affinity: _VolumeAffinity | None = None


class VolumeObject(Part):
    """A PersistentVolume."""

    metadata: Metadata
    spec: _VolumeSpec = msgspec.field(default_factory=_VolumeSpec)


class StorageClassObject(Part):
    """A StorageClass."""

    metadata: Metadata
    volume_binding_mode: str | None = None


CatalogObject = NamespaceObject | ClaimObject | VolumeObject | StorageClassObject
KINDS: Mapping[str, type[CatalogObject]] = {
    "Namespace": NamespaceObject,  # there is always one, so a list without them was not told of the others either
    "PersistentVolumeClaim": ClaimObject,
    "PersistentVolume": VolumeObject,
    "StorageClass": StorageClassObject,
}


def decode_entry(kind: str, thing: object, where: str) -> Entry:
    """An object of one of KINDS; a claim without a namespace is in `default`. InputError names the field."""
    found = convert(thing, KINDS[kind], where)
    if isinstance(found, ClaimObject) and not found.metadata.namespace:
        found.metadata.namespace = "default"
    with located(where):
        return entry_of(found)


def entry_of(thing: CatalogObject) -> Entry:
    """Any of them, read."""
    match thing:
        case NamespaceObject():
            return namespace_of(thing)
        case ClaimObject():
            return claim_of(thing)
        case VolumeObject():
            return volume_of(thing)
        case StorageClassObject():
            return storage_class_of(thing)


def namespace_of(thing: NamespaceObject) -> Namespace:
    """The name and labels."""
    return Namespace(thing.metadata.name or "", thing.metadata.labels or {})


def claim_of(thing: ClaimObject) -> Claim:
    """What stands in the way of whoever uses the claim."""
    meta, spec = thing.metadata, thing.spec
    notes = meta.annotations or {}
    return Claim(
        namespace=meta.namespace or "",
        name=meta.name or "",
        volume=spec.volume_name or "",
        bound=bool(spec.volume_name) and _BOUND in notes,
        lost=thing.status.phase == "Lost",
        leaving=meta.deletion_timestamp is not None,
        storage_class=notes.get(_OLD_CLASS, spec.storage_class_name or ""),
        alone="ReadWriteOncePod" in (spec.access_modes or ()),
        node=notes.get(_CHOSEN_NODE, ""),
    )


def volume_of(thing: VolumeObject) -> Volume:
    """Where the volume can be had; InputError where its node affinity cannot be read."""
    meta = thing.metadata
    name, labels = meta.name or "", meta.labels or {}
    required = None if thing.spec.node_affinity is None else thing.spec.node_affinity.required
    terms: tuple[NodeTerm, ...] | None = None
    if required is not None:
        terms = read_node_terms(required, f"PersistentVolume {name}: spec.nodeAffinity")
    zones = tuple((key, tuple(labels[key].split(_BETWEEN_ZONES))) for key in ZONE_LABELS if labels.get(key))
    return Volume(name, terms, zones)


def storage_class_of(thing: StorageClassObject) -> StorageClass:
    """Whether its volumes wait for a Pod's node."""
    return StorageClass(thing.metadata.name or "", thing.volume_binding_mode == "WaitForFirstConsumer")

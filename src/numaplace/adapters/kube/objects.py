"""What any object is called, read from as little of it as possible."""

from typing import NamedTuple, Protocol

import msgspec

from numaplace.wire.pod_object import Metadata


class HasMetadata(Protocol):
    """A typed object of any kind."""

    metadata: Metadata


class Key(NamedTuple):
    """What an object is called; `namespace` is empty for objects of the cluster."""

    namespace: str
    name: str


class _Bare(msgspec.Struct, gc=False):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


def metadata_of(body: bytes | msgspec.Raw) -> Metadata:
    """The metadata of an object of any kind."""
    return msgspec.json.decode(body, type=_Bare).metadata


def key_of(metadata: Metadata) -> Key:
    """The key of the object that has this metadata."""
    return Key(metadata.namespace or "", metadata.name or "")

"""A topology document read part by part, so that what many machines have alike is read once.

Thousands of nodes are of a few models: their parts are the same text, but for the names
of their cards and their free memory. Called by `wire.topology`, which reads the whole
again, and says what is wrong, wherever this finds anything amiss.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec

from numaplace.decide.discover import Discovery
from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import Gpu
from numaplace.model.errors import InputError
from numaplace.model.ids import GpuUuid
from numaplace.model.topology import Numa, Topology
from numaplace.wire import topology_schema as schema
from numaplace.wire.topology_reading import PARTS, Domains, findings_of, numas_of
from numaplace.wire.topology_writing import ITEMS

_MODELS = 256  # machine models of one cluster, each with some ten parts
_KINDS: Mapping[str, Any] = {field.name: field.type for field in msgspec.structs.fields(schema.Document)}
_DEFAULTS = {"hash": b"null", **dict.fromkeys((*PARTS, "findings"), b"[]")}
_Texts = msgspec.defstruct(
    "_Texts",
    [
        (name, msgspec.Raw, msgspec.Raw(_DEFAULTS[name])) if name in _DEFAULTS else (name, msgspec.Raw)
        for name in sorted(_KINDS, key=lambda name: name in _DEFAULTS)
    ],
    forbid_unknown_fields=True,
)


@dataclass(frozen=True, slots=True)
class _Part:
    """One list of the document."""

    nouns: tuple[Any, ...]
    text: bytes  # as we write it, for the hash


def read_by_parts(text: str | bytes, version: int) -> Discovery | None:
    """The machine and its findings; None where anything is not as it should be."""
    try:
        found = msgspec.json.decode(text, type=_Texts)
        texts = {name: bytes(getattr(found, name)) for name in _KINDS}
        if texts["v"] != str(version).encode():
            return None
        numas = numas_of(_typed("numas", texts["numas"]))
        domains = frozenset(numa.id for numa in numas)
        parts = {name: _part(name, texts[name], domains) for name in PARTS if name != "gpus"}
        parts["numas"] = _Part(numas, _written("numas", tuple(map(without_free, numas))))
        parts["gpus"] = _gpus(texts["gpus"], domains)
        online = CpuSet.parse(_typed("online", texts["online"]))
        if _typed("hash", texts["hash"]) not in (None, digest(_whole(version, online, parts))):
            return None
        topology = Topology(online=online, **{name: part.nouns for name, part in parts.items()})
        return Discovery(topology, findings_of(_typed("findings", texts["findings"])))
    except (InputError, ValueError, RecursionError):  # msgspec's complaints are ValueErrors
        return None


def digest(document: bytes) -> str:
    """Sixteen hex digits for a document without findings, hash and what is free."""
    return hashlib.sha256(document).hexdigest()[:16]


def without_free(numa: Numa) -> Numa:
    """The domain as the hash sees it."""
    pools = tuple(replace(pool, free=pool.total) for pool in numa.hugepages)
    return replace(numa, free_bytes=None, hugepages=pools)


@lru_cache(maxsize=_MODELS * len(_KINDS))
def _part(name: str, text: bytes, domains: Domains) -> _Part:
    nouns = PARTS[name](_typed(name, text), domains)
    return _Part(nouns, _written(name, nouns))


def _gpus(text: bytes, domains: Domains) -> _Part:
    """The cards: of one model but for their UUIDs, by which no two machines are alike."""
    listed: list[schema.GpuFields] = _typed("gpus", text)
    uuids = [fields.uuid for fields in listed]
    for fields in listed:
        fields.uuid = None
    bare = _part("gpus", msgspec.json.encode(listed), domains)
    gpus = tuple(map(_named, bare.nouns, uuids))
    return _Part(gpus, _written("gpus", gpus))


def _named(gpu: Gpu, uuid: str | None) -> Gpu:
    return gpu if uuid is None else replace(gpu, uuid=GpuUuid(uuid))


def _typed(name: str, text: bytes) -> Any:
    return msgspec.convert(msgspec.json.decode(text), _KINDS[name])


def _written(name: str, nouns: tuple[Any, ...]) -> bytes:
    return msgspec.json.encode([ITEMS[name](noun) for noun in nouns])


def _whole(version: int, online: CpuSet, parts: Mapping[str, _Part]) -> bytes:
    """The bytes that the hash is of, put together from the parts."""
    texts = {name: part.text for name, part in parts.items()}
    texts |= {"v": b"%d" % version, "online": msgspec.json.encode(str(online)), "findings": b"[]", "hash": b"null"}
    return b"{" + b",".join(b'"%s":%s' % (name.encode(), texts[name]) for name in _KINDS) + b"}"

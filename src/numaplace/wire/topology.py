"""A Topology as the versioned JSON document, and back.

`show -o json` prints it, captures sum themselves up with it, and the report carries it.
decode(encode(x)) == x; docs/reference/topology-json.md is its manual.
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from numaplace.decide.discover import Discovery
from numaplace.model.errors import InputError, located
from numaplace.model.finding import Finding
from numaplace.model.topology import Topology
from numaplace.wire.strict import convert, decode_json, shown
from numaplace.wire.topology_parts import digest, read_by_parts, without_free
from numaplace.wire.topology_reading import findings_of, topology_of
from numaplace.wire.topology_schema import Document
from numaplace.wire.topology_writing import document_of

VERSION = 1


def encode(topology: Topology, findings: Sequence[Finding] = ()) -> bytes:
    """The document as one line of JSON; equal arguments give equal bytes."""
    document = document_of(topology, findings, VERSION)
    document.hash = topology_hash(topology)
    return msgspec.json.encode(document)


def decode(text: str | bytes, where: str = "topology") -> Discovery:
    """Read a document back; InputError names the field, another version or a hash that does not fit.

    Parts that machines of one model have alike are read once and shared, whatever their cards are called.
    """
    found = read_by_parts(text, VERSION)
    return found if found is not None else _decode(text, where)


def _decode(text: str | bytes, where: str) -> Discovery:
    """The whole document at once: slow, but its complaints are for people."""
    thing = decode_json(text, dict[str, object], where)
    version = thing.get("v")
    if type(version) is not int or version != VERSION:
        raise InputError(f"{where}: v", found=shown(version), wanted=f"version {VERSION}")
    document = convert(thing, Document, where)
    with located(where):
        topology, findings = topology_of(document), findings_of(document.findings)
    if document.hash not in (None, found := topology_hash(topology)):
        wanted = f"{found}, or no hash: the document was changed"
        raise InputError(f"{where}: hash", found=shown(document.hash), wanted=wanted)
    return Discovery(topology, findings)


def topology_hash(topology: Topology) -> str:
    """Sixteen hex digits that change when the machine does, but not with its free memory or pages."""
    still = replace(topology, numas=tuple(map(without_free, topology.numas)))
    return digest(msgspec.json.encode(document_of(still, (), VERSION)))

"""A whole cluster as one JSON List: Nodes, reports, Pods and what rules look up, with the fields that are read.

`numaplace capture cluster` writes it, `status`, `explain` and `simulate` read it; what
`kubectl get nodes,noderesourcetopologies,pods -A -o json` prints is read as well.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from numaplace.model import keys
from numaplace.model.catalog import ZONE_LABELS
from numaplace.model.errors import InputError
from numaplace.wire.catalog import KINDS as CATALOG_KINDS
from numaplace.wire.catalog import READ_ANNOTATIONS, CatalogObject
from numaplace.wire.nodes import NodeObject, ReportObject
from numaplace.wire.pod_object import Metadata, Part, PodObject, PodSpec
from numaplace.wire.report import renewed_s
from numaplace.wire.strict import convert, shown
from numaplace.wire.yaml_text import load_documents

CAPTURED = keys.OWN_PREFIX + "captured"  # annotation of the list: when the cluster was looked at

_FOREIGN_KEYS = ("cpu-policy", "scheduling.koordinator.sh/")  # annotations of others that we judge or warn of
_REPORT_ATTRIBUTES = (keys.TOPOLOGY, keys.RESERVED, keys.IN_USE)


Thing = NodeObject | ReportObject | PodObject | CatalogObject


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """What a cluster held at one time."""

    nodes: tuple[NodeObject, ...]
    reports: tuple[ReportObject, ...]
    pods: tuple[PodObject, ...]
    at_s: float  # seconds since 1970
    catalog: tuple[CatalogObject, ...] | None = None  # namespaces, claims, volumes, classes; None: not told
    problems: tuple[str, ...] = ()  # objects that could not be read, in sentences
    told: str = ""  # how its planner says it is set up (wire/settings); "": it did not say

    def all(self) -> Iterator[Thing]:
        """Every object; the catalog comes last."""
        yield from self.nodes
        yield from self.reports
        yield from self.pods
        yield from self.catalog or ()


class _Head(Part):
    kind: str = ""
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    items: list[Any] | None = None


def write_cluster(at_s: float, lines: Iterable[str], told: str = "") -> Iterator[str]:
    """The text of a capture in pieces, from the lines of its objects in their order; `told` as in ClusterObjects."""
    at = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    notes = {CAPTURED: at, **({keys.SETTINGS: told} if told else {})}
    said = msgspec.json.encode({"annotations": notes}).decode()
    yield f'{{"apiVersion":"v1","kind":"List","metadata":{said},"items":['
    before = "\n"
    for line in lines:
        yield before + line
        before = ",\n"
    yield "\n]}\n"


def line_of(thing: Thing) -> bytes:
    """One object as it stands in a capture."""
    return msgspec.json.encode(_item_of(thing))


def rank_of(thing: Thing) -> tuple[str, ...]:
    """Its place: nodes, reports, the catalog, then Pods from the oldest to the youngest, equally old ones by name."""
    match thing:
        case NodeObject():
            return ("0",)
        case ReportObject():
            return ("1",)
        case PodObject():
            meta = thing.metadata
            return ("3", meta.creation_timestamp or "", meta.namespace or "", meta.name or "")
    return ("2",)


def kind_of(thing: Thing) -> str:
    """What the API calls it."""
    return next(kind for kind, one in _KINDS.items() if isinstance(thing, one))


def _item_of(thing: Thing) -> dict[str, Any]:
    match thing:
        case NodeObject():
            return _node_item(thing)
        case ReportObject():
            return _report_item(thing)
        case PodObject():
            return _pod_item(thing)
    return _catalog_item(thing)


def _node_item(node: NodeObject) -> dict[str, Any]:
    """A Node without what only its kubelet and others want to know."""
    meta = msgspec.structs.replace(node.metadata, annotations=None, owner_references=None)
    return _item("Node", "v1", msgspec.structs.replace(node, metadata=meta))


def _report_item(report: ReportObject) -> dict[str, Any]:
    """A report with what its agent says to the planner; the zones repeat it for others."""
    renewed = (report.metadata.annotations or {}).get(keys.RENEWED)
    meta = msgspec.structs.replace(
        report.metadata,
        annotations=None if renewed is None else {keys.RENEWED: renewed},
        labels=None,
        owner_references=None,
    )
    ours = [one for one in report.attributes or () if one.name in _REPORT_ATTRIBUTES]
    slim = msgspec.structs.replace(report, metadata=meta, attributes=ours)
    return _item("NodeResourceTopology", "topology.node.k8s.io/v1alpha2", slim)


def _catalog_item(thing: CatalogObject) -> dict[str, Any]:
    """A namespace with its labels; a claim, volume or class with what says on which nodes it can be had."""
    kind = kind_of(thing)
    notes, labels = thing.metadata.annotations or {}, thing.metadata.labels or {}
    kept = labels if kind == "Namespace" else {key: labels[key] for key in ZONE_LABELS if key in labels}
    read = {key: notes[key] for key in READ_ANNOTATIONS if key in notes}
    meta = msgspec.structs.replace(
        thing.metadata, annotations=read or None, labels=kept or None, owner_references=None, uid=None
    )
    version = "storage.k8s.io/v1" if kind == "StorageClass" else "v1"
    return _item(kind, version, msgspec.structs.replace(thing, metadata=meta))


def _pod_item(pod: PodObject) -> dict[str, Any]:
    """A Pod with the annotations, conditions and amounts that a placement depends on, and no more."""
    kept = {key: text for key, text in (pod.metadata.annotations or {}).items() if _is_read(key)}
    meta = msgspec.structs.replace(pod.metadata, annotations=kept or None)
    return _item("Pod", "v1", msgspec.structs.replace(pod, metadata=meta, spec=_slim(pod.spec)))


def _slim(spec: PodSpec) -> PodSpec:
    """That there are volumes and claims of these kinds, not what is in them."""
    volumes = [
        one if one.ephemeral is None else msgspec.structs.replace(one, ephemeral={})
        for one in spec.volumes or ()
        if one.persistent_volume_claim is not None or one.ephemeral is not None
    ]
    claims: list[dict[str, Any]] = [{} for _ in spec.resource_claims or ()]
    return msgspec.structs.replace(spec, volumes=volumes or None, resource_claims=claims or None)


def decode_cluster(text: str, where: str) -> ClusterObjects:
    """Everything of a capture, or of kubectl's list; other kinds are passed over.

    InputError where the text is neither, or an object is not of its kind. Where no time
    of capture is written the youngest report's counts.
    """
    kept: dict[str, list[Any]] = {kind: [] for kind in _KINDS}
    at_s, told = None, ""
    for number, document in enumerate(load_documents(text, where), start=1):
        at = f"{where}: document {number}"
        outer = convert(document, _Head, at)
        at_s = _captured_s(outer.metadata, at) if CAPTURED in (outer.metadata.annotations or {}) else at_s
        told = (outer.metadata.annotations or {}).get(keys.SETTINGS, told)
        items = [document] if outer.items is None else outer.items
        for place, thing in enumerate(items, start=1):
            kind = str(thing.get("kind") or outer.kind.removesuffix("List")) if isinstance(thing, Mapping) else ""
            if kind in kept:
                kept[kind].append(convert(thing, _KINDS[kind], f"{at}, item {place}"))
    nodes, reports, pods = kept["Node"], kept["NodeResourceTopology"], kept["Pod"]
    if not nodes:
        raise InputError(where, found="no Node", wanted="what numaplace capture cluster writes")
    renewed = [when for report in reports if (when := renewed_s(report)) is not None]
    at_s = max(renewed, default=0.0) if at_s is None else at_s
    catalog = tuple(thing for kind in CATALOG_KINDS for thing in kept[kind]) if kept["Namespace"] else None
    return ClusterObjects(tuple(nodes), tuple(reports), tuple(pods), at_s, catalog, told=told)


_KINDS: Mapping[str, type[Part]] = {
    "Node": NodeObject,
    "NodeResourceTopology": ReportObject,
    "Pod": PodObject,
    **CATALOG_KINDS,
}


def _captured_s(meta: Metadata, where: str) -> float:
    text = (meta.annotations or {})[CAPTURED]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{where}: {CAPTURED}", found=shown(text), wanted="a time like 2026-01-31T12:00:00Z"
        ) from error


def _is_read(key: str) -> bool:
    ours = key == keys.CPUSET_SCHEDULER or key in keys.JSON_KEYS or key.startswith(keys.OWN_PREFIX)
    return ours or key.startswith(_FOREIGN_KEYS)


def _item(kind: str, version: str, thing: Part) -> dict[str, Any]:
    body = _without_nothing(msgspec.to_builtins(thing))
    body["metadata"].pop("resourceVersion", None)
    return {"apiVersion": version, "kind": kind, **body}


def _without_nothing(value: Any) -> Any:
    """The value without fields that are null or were never written."""
    if isinstance(value, dict):
        return {key: _without_nothing(one) for key, one in value.items() if one is not None}
    return [_without_nothing(one) for one in value] if isinstance(value, list) else value

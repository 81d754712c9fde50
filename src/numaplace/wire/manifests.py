"""Manifest files into workloads: any mix of Pods and controllers, as written or as kubectl prints them.

Other kinds are counted and passed over. What a controller does in time (rollouts,
back-offs, schedules) is not played: a workload is the Pods it runs at one time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from numaplace.model import keys
from numaplace.model.catalog import Entry
from numaplace.model.errors import InputError
from numaplace.wire import workload_object as obj
from numaplace.wire.catalog import KINDS as CATALOG_KINDS
from numaplace.wire.catalog import decode_entry
from numaplace.wire.pod import BUILT_IN_PRIORITIES, decode
from numaplace.wire.strict import ascii_safe, convert, read_name, shown
from numaplace.wire.workload import Workload, daemon, suffix_of
from numaplace.wire.yaml_text import load_documents

MAX_REPLICAS = 1_000_000  # far above what a cluster runs; keeps a slip of the finger from eating memory
MAX_LIST_DEPTH = 10

_GROUPS = {
    "Pod": "",
    "ReplicationController": "",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
    "CronJob": "batch",
    "PriorityClass": "scheduling.k8s.io",
}


@dataclass(frozen=True, slots=True)
class Manifests:
    """What a file holds."""

    workloads: tuple[Workload, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)  # objects that make no Pods, by kind
    entries: tuple[Entry, ...] = ()  # those of them that rules look up: namespaces, claims, volumes, storage classes
    warnings: tuple[str, ...] = ()  # sentences for the person who wrote the file


def decode_manifests(text: str, where: str) -> Manifests:
    """Everything in a YAML or JSON text that makes Pods, in order.

    InputError names `where`, the document and the field. PriorityClass objects of the
    same text give their values to the Pods that name them. A controller whose own
    Pods are in the text (a dump of everything) is passed over: they stand for it.
    """
    documents = enumerate(load_documents(text, where), start=1)
    found = [one for number, thing in documents for one in _objects(thing, f"{where}: document {number}")]
    objects = [replace(one, head=_with_name(one.head, number)) for number, one in enumerate(found)]
    priorities = _priorities(objects)
    owners = {owner for one in objects for owner in _owners(one)}
    kept, skipped, entries = {}, Counter[str](), list[Entry]()
    for one in objects:
        if one.kind not in _GROUPS:
            skipped[one.kind] += 1
            if one.kind in CATALOG_KINDS:
                entries.append(decode_entry(one.kind, one.thing, one.where))
        elif one.kind != "PriorityClass" and one.identity not in owners:
            if one.identity in kept:
                raise InputError(one.where, found=f"{one.kind} {one.name} a second time", wanted="each object once")
            kept[one.identity] = (one, _workload(one, priorities))
    warnings = [sentence for one, workload in kept.values() for sentence in _warnings(one, workload, priorities)]
    return Manifests(tuple(workload for _, workload in kept.values()), dict(skipped), tuple(entries), tuple(warnings))


@dataclass(frozen=True, slots=True)
class _Object:
    """One object of a file."""

    kind: str
    head: obj.Head
    thing: dict[str, object]
    where: str

    @property
    def name(self) -> str:
        """Its name; InputError if it has none, or one that Kubernetes would not take."""
        return read_name(self.head.metadata.name or "", f"{self.where}: metadata.name")

    @property
    def identity(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        return (self.kind, self.head.metadata.namespace or "default", self.name)


def _objects(thing: object, where: str, depth: int = 0) -> Iterator[_Object]:
    """The objects in a document; lists are opened."""
    if not isinstance(thing, dict):
        raise InputError(where, found=shown(thing), wanted="a Kubernetes object with apiVersion and kind")
    if "kind" not in thing and "nodes" in thing:
        raise InputError(where, found="a nodes file", wanted="Kubernetes objects with apiVersion and kind")
    head = convert(thing, obj.Head, where)
    if not (head.kind.endswith("List") and "items" in thing):
        name = (head.metadata.name or "without a name")[:80]
        yield _Object(_full_kind(head), head, thing, ascii_safe(f"{where} ({head.kind[:80]} {name})"))
        return
    if depth == MAX_LIST_DEPTH:
        raise InputError(where, found=f"lists in {depth} lists", wanted="a list of objects")
    for number, item in enumerate(convert(thing, obj.ObjectList, where).items or (), start=1):
        if isinstance(item, dict) and "kind" not in item and head.kind != "List":  # the API's own lists leave it out
            item = {**item, "kind": head.kind.removesuffix("List"), "apiVersion": head.api_version}
        yield from _objects(item, f"{where}, item {number}", depth + 1)


def _full_kind(head: obj.Head) -> str:
    """The kind; with its group where a kind that we know belongs to others (Job.batch.volcano.sh)."""
    group = (head.api_version or "").rpartition("/")[0]
    known = _GROUPS.get(head.kind)
    return head.kind if known is None or group == known or not head.api_version else f"{head.kind}.{group or 'v1'}"


def _with_name(head: obj.Head, number: int) -> obj.Head:
    """The head with a name where only `generateName` is given, different for each object of the file."""
    meta = head.metadata
    if meta.name or not meta.generate_name:
        return head
    name = meta.generate_name + suffix_of(meta.generate_name, number)
    return msgspec.structs.replace(head, metadata=msgspec.structs.replace(meta, name=name))


def _priorities(objects: Iterable[_Object]) -> Mapping[str, int]:
    """Values by class name; that of the empty name is the cluster's default."""
    priorities = dict(BUILT_IN_PRIORITIES)
    for one in objects:
        if one.kind == "PriorityClass":
            found = convert(one.thing, obj.PriorityClass, one.where)
            priorities[one.name] = found.value
            if found.global_default:
                priorities[""] = found.value
    return priorities


def _owners(one: _Object) -> Iterator[tuple[str, str, str]]:
    for reference in one.head.metadata.owner_references or ():
        if reference.controller:
            yield (reference.kind, one.head.metadata.namespace or "default", reference.name)


def _workload(one: _Object, priorities: Mapping[str, int]) -> Workload:
    if one.kind == "Pod":
        return Workload("Pod", decode(_renamed(one.thing, one), one.where, priorities))
    controller = convert(one.thing, obj.CONTROLLERS[one.kind], one.where)
    replicas = controller.copies()
    if not 0 <= replicas <= MAX_REPLICAS:
        raise InputError(f"{one.where}: number of Pods", found=shown(replicas), wanted=f"0..{MAX_REPLICAS}")
    template = decode(_renamed(controller.pod_template(), one), f"{one.where}: template", priorities)
    template = replace(template, owner=f"{one.kind}/{one.name}")
    per_node = one.kind == "DaemonSet"
    numbered = one.kind == "StatefulSet" or controller.is_indexed()
    return Workload(one.kind, daemon(template) if per_node else template, replicas, per_node, numbered)


def _renamed(thing: dict[str, object], one: _Object) -> dict[str, object]:
    """A Pod object, or the one in a template, under the name and namespace of the object it stands in."""
    metadata = thing.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise InputError(f"{one.where}: template.metadata", found=shown(metadata), wanted="a mapping")
    meta = one.head.metadata
    own = {"name": one.name, "namespace": meta.namespace, "creationTimestamp": meta.creation_timestamp}
    return {**thing, "metadata": {**metadata, **own}}


def _warnings(one: _Object, workload: Workload, priorities: Mapping[str, int]) -> Iterator[str]:
    """What the writer most likely did not mean."""
    template = workload.template
    own = one.head.metadata.annotations or {}
    lost = sorted(key for key in own if _is_placement_key(key) and key not in template.annotations)
    if lost:
        yield (
            f"{one.where}: {', '.join(lost)[:200]} on the {one.kind} itself never reaches its Pods; annotations for "
            "Pods belong into the template's metadata"
        )
    if template.priority_class and template.priority_class not in priorities:
        yield (
            f"{one.where}: priorityClassName {template.priority_class[:80]} is no built-in class and not in this "
            "text; the Pods count with priority 0"
        )
    if one.kind in ("Job", "CronJob"):
        total = convert(one.thing, obj.CONTROLLERS[one.kind], one.where).completions()
        if total is not None and total > workload.replicas:
            yield f"{one.where}: {workload.replicas} of its {total} Pods run at one time; only those are placed"


def _is_placement_key(key: str) -> bool:
    return key == keys.CPUSET_SCHEDULER or key in keys.JSON_KEYS or key in keys.OWN_KEYS

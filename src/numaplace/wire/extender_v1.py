"""kube-scheduler's extender protocol, `k8s.io/kube-scheduler/extender/v1`: its questions in, our answers out.

Field names of the protocol are read in any case, as Go's JSON does; unknown fields are
ignored. What only passes through (thousands of names, whole Nodes, victims) is never
decoded. Broken input is an InputError, which goes back as the answer's `Error`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName, PodUid
from numaplace.wire.pod_object import Metadata, Part, PodObject
from numaplace.wire.strict import decode_json, shown

T = TypeVar("T")

MAX_SCORE = 10  # MaxExtenderPriority

_NULL = b"null"


@dataclass(frozen=True, slots=True)
class Asked:
    """ExtenderArgs: a Pod, and the nodes that the scheduler itself would take, by name or as whole objects."""

    uid: PodUid
    full_name: str  # namespace/name
    hint: NodeName | None  # status.nominatedNodeName, as the scheduler knows it
    pod_json: msgspec.Raw
    names_json: msgspec.Raw | None  # nodeCacheCapable: true
    list_json: msgspec.Raw | None  # nodeCacheCapable: false


@dataclass(frozen=True, slots=True)
class BindingAsked:
    """ExtenderBindingArgs: put this Pod on this node."""

    uid: PodUid
    namespace: str
    name: str
    node: NodeName


@dataclass(frozen=True, slots=True)
class PreemptionAsked:
    """ExtenderPreemptionArgs: a Pod, and per node the Pods that would have to go for it."""

    uid: PodUid
    full_name: str
    pod_json: msgspec.Raw
    meta_json: msgspec.Raw | None  # nodeCacheCapable: true, by UID
    victims_json: msgspec.Raw | None  # nodeCacheCapable: false, whole Pods


class _Status(Part):
    nominated_node_name: str | None = None


class _Head(Part):
    """What is read of every Pod that is asked about."""

    metadata: Metadata
    status: _Status | None = None


class _Named(msgspec.Struct):
    metadata: Metadata


_Fields = dict[str, msgspec.Raw]
_FIELDS = msgspec.json.Decoder(_Fields)
_HEAD = msgspec.json.Decoder(_Head)
_NAMES = msgspec.json.Decoder(list[NodeName])
_NODES = msgspec.json.Decoder(list[_Named])


# --- questions


def decode_args(body: bytes) -> Asked:
    """The question of `filter` and `prioritize`."""
    fields = _fields(body, "ExtenderArgs")
    pod, head = _pod(fields, "ExtenderArgs")
    names, nodes = fields.get("nodenames"), fields.get("nodes")
    if names is None and nodes is None:
        raise InputError("ExtenderArgs", found="neither NodeNames nor Nodes", wanted="one of them")
    hint = head.status.nominated_node_name if head.status is not None else None
    return Asked(_uid(head), _full_name(head), NodeName(hint) if hint else None, pod, names, nodes)


def decode_binding(body: bytes) -> BindingAsked:
    """The question of `bind`; each of its fields is needed."""
    fields = _fields(body, "ExtenderBindingArgs")

    def text(name: str) -> str:
        found = _typed(fields.get(name.lower(), msgspec.Raw(b'""')), str, f"ExtenderBindingArgs: {name}")
        if not found:
            raise InputError(f"ExtenderBindingArgs: {name}", found="nothing", wanted="this field")
        return found

    return BindingAsked(PodUid(text("PodUID")), text("PodNamespace"), text("PodName"), NodeName(text("Node")))


def decode_preemption(body: bytes) -> PreemptionAsked:
    """The question of `preempt`."""
    fields = _fields(body, "ExtenderPreemptionArgs")
    pod, head = _pod(fields, "ExtenderPreemptionArgs")
    meta, victims = fields.get("nodenametometavictims"), fields.get("nodenametovictims")
    return PreemptionAsked(_uid(head), _full_name(head), pod, meta, victims)


def pod_of(asked: Asked | PreemptionAsked) -> PodObject:
    """The whole Pod of a question, for the few that have to be read."""
    return _typed(asked.pod_json, PodObject, f"Pod {asked.full_name}")


def names_of(asked: Asked) -> list[NodeName]:
    """The nodes of a question, by name."""
    if asked.names_json is not None:
        try:
            return _NAMES.decode(asked.names_json)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return decode_json(bytes(asked.names_json), list[NodeName], "ExtenderArgs: NodeNames")
    nodes = _typed(msgspec.Raw(b"[" + b",".join(map(bytes, _items(asked))) + b"]"), list[_Named], "Nodes: items")
    return [NodeName(one.metadata.name or "") for one in nodes]


# --- answers


def everyone(asked: Asked) -> bytes:
    """For `filter`: all nodes are fine, given back as they came."""
    if asked.names_json is not None:
        return b'{"NodeNames":' + bytes(asked.names_json) + b"}"
    return b'{"Nodes":' + bytes(asked.list_json or _NULL) + b"}"


def only(asked: Asked, chosen: NodeName | None, names: Iterable[NodeName], text: str) -> bytes:
    """For `filter`: `chosen` or nobody; the others are not to be had by preempting somebody either.

    The text must be one that does not move: the scheduler tries again whenever it does.
    """
    answer: dict[str, Any] = {"FailedAndUnresolvableNodes": {name: text for name in names if name != chosen}}
    if asked.names_json is not None:
        answer["NodeNames"] = [] if chosen is None else [chosen]
    else:
        answer["Nodes"] = {"items": [one for one in _items(asked) if _name(one) == chosen]}
    return msgspec.json.encode(answer)


def failed(sentence: str) -> bytes:
    """For `filter` and `bind`: the question cannot be answered now; empty for a binding that is done."""
    return msgspec.json.encode({"Error": sentence})


def scores(best: NodeName | None) -> bytes:
    """For `prioritize`: all nodes are alike, but for the best one."""
    return msgspec.json.encode([] if best is None else [{"Host": best, "Score": MAX_SCORE}])


def all_victims(asked: PreemptionAsked) -> bytes:
    """For `preempt`: whatever the scheduler chose."""
    if asked.meta_json is not None:
        return b'{"NodeNameToMetaVictims":' + bytes(asked.meta_json) + b"}"
    where = "ExtenderPreemptionArgs: NodeNameToVictims"
    nodes = _typed(asked.victims_json or msgspec.Raw(b"{}"), _Fields, where)
    return msgspec.json.encode({"NodeNameToMetaVictims": {name: _meta(one, where) for name, one in nodes.items()}})


def no_victims() -> bytes:
    """For `preempt`: nobody has to go."""
    return b'{"NodeNameToMetaVictims":{}}'


# --- how both are read


def _fields(body: bytes | msgspec.Raw, where: str) -> Mapping[str, msgspec.Raw]:
    """The members of a JSON object by name in small letters; those that are null are left out."""
    try:
        fields = _FIELDS.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(where, found=shown(bytes(body)), wanted=f"a JSON object ({str(error)[:120]})") from error
    return {name.lower(): value for name, value in fields.items() if bytes(value) != _NULL}


def _pod(fields: Mapping[str, msgspec.Raw], where: str) -> tuple[msgspec.Raw, _Head]:
    if "pod" not in fields:
        raise InputError(f"{where}: Pod", found="nothing", wanted="the Pod that is asked about")
    pod = fields["pod"]
    try:
        head = _HEAD.decode(pod)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        head = decode_json(bytes(pod), _Head, f"{where}: Pod")
    if not head.metadata.uid:
        raise InputError(f"{where}: Pod.metadata.uid", found="nothing", wanted="the Pod's UID")
    return pod, head


def _uid(head: _Head) -> PodUid:
    return PodUid(head.metadata.uid or "")


def _full_name(head: _Head) -> str:
    return f"{head.metadata.namespace}/{head.metadata.name}"


def _items(asked: Asked) -> list[msgspec.Raw]:
    fields = _fields(asked.list_json or msgspec.Raw(b"{}"), "ExtenderArgs: Nodes")
    return _typed(fields.get("items", msgspec.Raw(b"[]")), list[msgspec.Raw], "ExtenderArgs: Nodes.items")


def _name(node: msgspec.Raw) -> str:
    return msgspec.json.decode(node, type=_Named).metadata.name or ""


def _meta(victims: msgspec.Raw, where: str) -> dict[str, Any]:
    fields = _fields(victims, where)
    pods = _typed(fields.get("pods", msgspec.Raw(b"[]")), list[_Named], f"{where}: Pods")
    violations = _typed(fields.get("numpdbviolations", msgspec.Raw(b"0")), int, f"{where}: NumPDBViolations")
    return {"Pods": [{"UID": one.metadata.uid or ""} for one in pods], "NumPDBViolations": violations}


def _typed(raw: msgspec.Raw, kind: type[T], where: str) -> T:
    """The value in `raw`; on a mistake it is read once more, for the words of the complaint."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return decode_json(bytes(raw), kind, where)

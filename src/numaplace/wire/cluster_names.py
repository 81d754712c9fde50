"""Names out of a captured cluster: of nodes, namespaces, Pods, containers, owners, and labels that people made up.

Names become numbers by their order, so that what was sorted stays sorted: names decide
between equals.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from numaplace.model import keys
from numaplace.model.settings import Settings

Rename = Callable[[str, str], str]  # what a name is of, and the name

_KNOWN = re.compile(r"(^|\.)(kubernetes\.io|k8s\.io|numaplace\.dev)/|^gpu-topology")  # keys whose meaning is public
_PLAIN = re.compile(r"|true|false|[-+]?\d+")  # values that tell nothing, or that are compared as numbers
_LABELS = ("labels", "nodeSelector", "matchLabels")
_NAMED = {  # fields that hold one name, or several
    "nodeName": "node",
    "nominatedNodeName": "node",
    "node": "node",
    "namespace": "namespace",
    "namespaces": "namespace",
    "claimName": "claim",
    "volumeName": "volume",
    "storageClassName": "class",
    "topologyKey": "key",
    "matchLabelKeys": "key",
    "mismatchLabelKeys": "key",
}
_DROPPED = ("message", "generateName", "priorityClassName")
_VALUES_OF = {keys.HOSTNAME: "node", keys.NODE_NAME_FIELD: "node", "kubernetes.io/metadata.name": "namespace"}
_PLACES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_KINDS = {
    "Node": "node",
    "NodeResourceTopology": "node",
    "Pod": "pod",
    "Namespace": "namespace",
    "PersistentVolumeClaim": "claim",
    "PersistentVolume": "volume",
    "StorageClass": "class",
}
_NOTES = {"volume.kubernetes.io/selected-node": "node", "volume.beta.kubernetes.io/storage-class": "class"}
_KEPT_NAMES = ("schedulingGates", "attributes", "resources", "resizePolicy")


def without_names(lines: Callable[[], Iterable[str]], settings: Settings) -> Iterator[str]:
    """The lines of a capture under new names; placements on it, under the same settings, are the same.

    `lines` is asked twice: every name must be known before the first is numbered.
    Identifiers are left: `decide.discover.without_identifiers` replaces them.
    """
    seen: defaultdict[str, set[str]] = defaultdict(set)

    def note(kind: str, name: str) -> str:
        seen[kind].add(name)
        return name

    noting = _Renaming(note, settings)
    for line in lines():
        noting.item(msgspec.json.decode(line))
    numbered = {kind: _numbered(kind, names) for kind, names in seen.items()}
    renaming = _Renaming(lambda kind, name: numbered[kind][name], settings)
    for line in lines():
        yield msgspec.json.encode(renaming.item(msgspec.json.decode(line))).decode()


def _numbered(kind: str, names: set[str]) -> Mapping[str, str]:
    """`node-007` for the seventh node by name."""
    width = len(str(len(names)))
    return {name: f"{kind}-{number:0{width}}" for number, name in enumerate(sorted(names), start=1)}


class _Renaming:
    """One walk over an object; `rename` is asked for every name."""

    def __init__(self, rename: Rename, settings: Settings) -> None:
        self._enable_label, self._kept = settings.enable_label, settings.sharing_containers
        self._rename_any = rename

    def _rename(self, kind: str, name: str) -> str:
        return name if kind == "name" and name in self._kept else self._rename_any(kind, name)

    def item(self, item: dict[str, Any]) -> dict[str, Any]:
        """The object under its new names."""
        meta = item["metadata"]
        named = {**meta, "name": self._rename(_KINDS[item["kind"]], meta["name"])}
        walked: dict[str, Any] = self._walk({**item, "metadata": named}, "")
        walked["metadata"]["name"] = named["name"]
        return walked

    def _walk(self, value: Any, field: str) -> Any:
        if isinstance(value, list):
            return [self._walk(one, field) for one in value]
        if not isinstance(value, dict):
            kind = _NAMED.get(field)
            return self._rename(kind, value) if kind and isinstance(value, str) and value else value
        if field in _LABELS:
            return {self._key(key): self._value(key, text) for key, text in value.items()}
        if field == "annotations":
            return self._annotations(value)
        if "key" in value:
            return self._expression(value)
        walked = {key: self._walk(one, key) for key, one in value.items() if key not in _DROPPED}
        if isinstance(walked.get("name"), str) and field not in ("metadata", *_KEPT_NAMES):
            walked["name"] = self._rename("name", walked["name"])
        if field == "attributes" and walked.get("name") == keys.TOPOLOGY:
            walked["value"] = _without_hash(walked["value"])
        return walked

    def _key(self, key: str) -> str:
        return key if not key or self._is_known(key) else self._rename("key", key)

    def _value(self, key: str, text: str) -> str:
        if key in _VALUES_OF:
            return self._rename(_VALUES_OF[key], text)
        if _PLAIN.fullmatch(text) or (self._is_known(key) and key not in _PLACES):
            return text
        return self._rename("value", text)

    def _is_known(self, key: str) -> bool:
        return key == self._enable_label or key == keys.NODE_NAME_FIELD or _KNOWN.search(key) is not None

    def _expression(self, value: dict[str, Any]) -> dict[str, Any]:
        """A requirement, a taint or a toleration."""
        key = value["key"] or ""
        renamed = {**value, "key": self._key(key)}
        if value.get("values"):
            renamed["values"] = [self._value(key, text) for text in value["values"]]
        if value.get("value"):
            renamed["value"] = self._value(key, value["value"])
        return renamed

    def _annotations(self, value: dict[str, str]) -> dict[str, str]:
        kept = {key: text for key, text in value.items() if key != keys.OBSERVED}
        kept |= {key: self._rename(kind, kept[key]) for key, kind in _NOTES.items() if kept.get(key)}
        text = kept.get(keys.ALLOCATION)
        if text is not None:
            kept[keys.ALLOCATION] = self._allocation(text)
        return kept

    def _allocation(self, text: str) -> str:
        """The node and the containers of an allocation; one that cannot be read is emptied."""
        try:
            told = msgspec.json.decode(text, type=dict[str, Any])
            told["node"] = self._rename("node", told["node"])
            told["containers"] = {self._rename("name", name): one for name, one in told["containers"].items()}
        except (msgspec.DecodeError, KeyError, AttributeError, TypeError):
            return "{}"
        return msgspec.json.encode(told).decode()


def _without_hash(document: str) -> str:
    """The topology document, whose hash would no longer fit."""
    try:
        told = msgspec.json.decode(document, type=dict[str, Any])
    except msgspec.DecodeError:
        return ""
    told.pop("hash", None)
    return msgspec.json.encode(told).decode()

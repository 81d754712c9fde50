"""The part of a cluster that placements depend on: enabled nodes, the Pods on them, and Pods that ask a place."""

from numaplace.decide.rules import is_enabled
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Refusal
from numaplace.model.settings import Settings
from numaplace.wire.catalog import ClaimObject, VolumeObject
from numaplace.wire.cluster import Thing
from numaplace.wire.live_pod import live_pod_of
from numaplace.wire.nodes import NodeObject, ReportObject, node_of
from numaplace.wire.pod_object import PodObject


class Ours:
    """Says of one object after the other whether it matters: nodes first, then Pods, claims, and volumes."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._nodes = set[str | None]()
        self._spaces = set[str | None]()  # where Pods are
        self._volumes = set[str | None]()  # that claims there name

    def keeps(self, thing: Thing) -> bool:
        """Whether it has a bearing on placements."""
        meta = thing.metadata
        match thing:
            case NodeObject():
                kept = is_enabled(node_of(thing, f"Node {meta.name}"), self._settings)
                self._nodes |= {meta.name} if kept else set()
            case ReportObject():
                kept = meta.name in self._nodes
            case PodObject():
                name = thing.spec.node_name
                kept = name in self._nodes if name else _asks(live_pod_of(thing, self._settings))
                self._spaces |= {meta.namespace} if kept else set()
            case ClaimObject():
                kept = meta.namespace in self._spaces
                self._volumes |= {thing.spec.volume_name} if kept else set()
            case VolumeObject():
                kept = meta.name in self._volumes
            case _:
                kept = True
        return kept


def _asks(pod: LivePod) -> bool:
    return bool(pod.gates) or isinstance(pod.asks, Refusal) or pod.asks.is_planned

"""The part of a cluster that placements depend on: enabled nodes, the Pods on them, and Pods that ask a place."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from numaplace.decide.rules import is_enabled
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Refusal
from numaplace.model.settings import Settings
from numaplace.wire.catalog import CatalogObject, ClaimObject, VolumeObject
from numaplace.wire.cluster import ClusterObjects
from numaplace.wire.live_pod import live_pod_of
from numaplace.wire.nodes import node_of
from numaplace.wire.pod_object import PodObject


def only_ours(objects: ClusterObjects, settings: Settings) -> ClusterObjects:
    """The same cluster without what has no bearing on a placement."""
    nodes = tuple(node for node in objects.nodes if is_enabled(node_of(node, f"Node {node.metadata.name}"), settings))
    names = {node.metadata.name for node in nodes}
    pods = tuple(
        pod
        for pod in objects.pods
        if pod.spec.node_name in names or (pod.spec.node_name is None and _asks(live_pod_of(pod, settings)))
    )
    return replace(
        objects,
        nodes=nodes,
        reports=tuple(report for report in objects.reports if report.metadata.name in names),
        pods=pods,
        catalog=None if objects.catalog is None else tuple(_used(objects.catalog, pods)),
    )


def _asks(pod: LivePod) -> bool:
    return bool(pod.gates) or isinstance(pod.asks, Refusal) or pod.asks.is_planned


def _used(catalog: Iterable[CatalogObject], pods: Iterable[PodObject]) -> Iterator[CatalogObject]:
    """Without claims of namespaces in which none of these Pods is, and without their volumes."""
    spaces = {pod.metadata.namespace for pod in pods}
    kept = [one for one in catalog if not isinstance(one, ClaimObject) or one.metadata.namespace in spaces]
    volumes = {one.spec.volume_name for one in kept if isinstance(one, ClaimObject)}
    return (one for one in kept if not isinstance(one, VolumeObject) or one.metadata.name in volumes)

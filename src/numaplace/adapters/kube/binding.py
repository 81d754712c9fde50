"""Binding a Pod to a node, so that doing it twice or losing the answer does no harm."""

from collections.abc import Mapping

import msgspec

from numaplace.adapters.kube.client import Kube
from numaplace.adapters.kube.errors import AnswerLostError, BusyError, ConflictError
from numaplace.adapters.kube.objects import Key
from numaplace.adapters.kube.resources import PODS
from numaplace.wire.pod_object import Metadata


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Bound(msgspec.Struct):
    metadata: Metadata
    spec: _Spec


async def bind(kube: Kube, pod: Key, *, uid: str, node: str, annotations: Mapping[str, str]) -> None:
    """The Pod with this UID is on `node`, with the annotations, when this returns.

    A Pod that is there already is fine, and where the answer was lost the Pod itself
    tells. ConflictError when it is on another node, is another Pod of that name, is
    being deleted or is gated; NotFoundError when it is gone; AnswerLostError or
    BusyError only when neither the Binding nor the Pod could be read.
    """
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": uid, "annotations": dict(annotations)},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    for last in (False, True):
        try:
            await kube.create(PODS, body, pod.namespace, name=pod.name, subresource="binding")
        except (ConflictError, AnswerLostError, BusyError) as error:
            if await _is_bound(kube, pod, uid, node):
                return
            if last or isinstance(error, ConflictError):
                raise
        else:
            return


async def _is_bound(kube: Kube, pod: Key, uid: str, node: str) -> bool:
    found = msgspec.json.decode(await kube.get(PODS, pod.name, pod.namespace), type=_Bound)
    return found.metadata.uid == uid and found.spec.node_name == node

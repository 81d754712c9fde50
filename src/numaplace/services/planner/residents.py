"""Residents: which Pods are on a node, or can only go there: so that a node that appears asks after its own alone."""

from collections.abc import Collection

from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod


class Residents:
    """Pods by node; one that is on its way elsewhere counts on both."""

    def __init__(self) -> None:
        self._on: dict[NodeName, set[PodUid]] = {}
        self._nodes_of: dict[PodUid, tuple[NodeName, ...]] = {}

    def put(self, pod: LivePod) -> None:
        """The Pod is there, new or changed."""
        now = tuple({name for name in (pod.node, pod.destination) if name is not None})
        if now == self._nodes_of.get(pod.uid, ()):
            return
        self.forget(pod.uid)
        self._nodes_of[pod.uid] = now
        for name in now:
            self._on.setdefault(name, set()).add(pod.uid)

    def forget(self, uid: PodUid) -> None:
        """The Pod is gone."""
        for name in self._nodes_of.pop(uid, ()):
            self._on[name].discard(uid)
            if not self._on[name]:
                del self._on[name]

    def on(self, name: NodeName) -> Collection[PodUid]:
        """Those of one node."""
        return self._on.get(name, ())

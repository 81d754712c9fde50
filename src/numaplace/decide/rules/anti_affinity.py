"""Rule: Pods that must not be near each other are not, whichever of the two said so."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, cast

from numaplace.decide.rules.relation import Condition, Namespaces, Seen, means, place_text
from numaplace.model.cluster import NodeState
from numaplace.model.request import PodRequest


class _Clash(NamedTuple):
    """A Pod and the newcomer cannot both have this value of a label."""

    key: str
    avoids: bool  # whether the newcomer said so, not the other
    value: str
    pod: str


class AntiAffinity:
    """Whom a newcomer avoids, and who avoids it."""

    def __init__(self, request: PodRequest, namespaces: Namespaces) -> None:
        self._request, self._namespaces = request, namespaces
        self._pods: dict[tuple[str, bool], dict[str, dict[str, int]]] = {}  # names, by label and its value

    def seen_on(self, node: NodeState) -> Seen:
        """The clashes with Pods on the node."""
        return tuple(self._clashes(node))

    def _clashes(self, node: NodeState) -> Iterator[_Clash]:
        labels, own = node.rules.labels, self._request.rules.anti_affinity
        for other in node.requests:
            for terms, one, avoids in ((own, other, True), (other.rules.anti_affinity, self._request, False)):
                for term in terms:
                    value = labels.get(term.topology_key)
                    if value is not None and means(term, one, self._namespaces):
                        yield _Clash(term.topology_key, avoids, value, other.full_name)

    def count(self, seen: Seen, sign: int) -> None:
        """Count the clashes of a node, or no longer."""
        for key, avoids, value, pod in cast(tuple[_Clash, ...], seen):
            by_value = self._pods.setdefault((key, avoids), {})
            pods = by_value.setdefault(value, {})
            pods[pod] = pods.get(pod, 0) + sign
            if not pods[pod]:
                del pods[pod]
            if not pods:
                del by_value[value]

    def conditions(self) -> Iterable[Condition]:
        """No such Pod may have the node's value."""
        for (key, avoids), by_value in sorted(self._pods.items(), reverse=True):
            if by_value:
                yield Condition(key, by_value, partial(_refuse, key, avoids, by_value))


def _refuse(key: str, avoids: bool, by_value: dict[str, dict[str, int]], value: str | None) -> str:
    if value is None or value not in by_value:
        return ""
    pod, place = min(by_value[value]), place_text(key, value)
    return f"anti-affinity: avoids Pod {pod} {place}" if avoids else f"anti-affinity: Pod {pod} {place} avoids it"

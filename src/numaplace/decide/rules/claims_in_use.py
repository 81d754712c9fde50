"""Rule: a claim that only one Pod at a time may use (ReadWriteOncePod) is not in use, on any node."""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import cast

from numaplace.decide.rules.relation import Condition, Seen
from numaplace.model.cluster import NodeState
from numaplace.model.request import PodRequest


class ClaimsInUse:
    """Who uses the claims that a newcomer would have for itself."""

    def __init__(self, request: PodRequest) -> None:
        self._namespace = request.namespace
        self._claims = request.rules.volumes.alone if request.rules.volumes is not None else frozenset()
        self._users = Counter[tuple[str, str]]()  # claim and Pod, on how many nodes: two while a Pod goes to another

    def seen_on(self, node: NodeState) -> Seen:
        """The Pods on the node that use one of the claims."""
        return tuple(
            (claim, other.full_name)
            for other in node.requests
            if other.namespace == self._namespace
            for claim in self._claims.intersection(other.rules.claims)
        )

    def count(self, seen: Seen, sign: int) -> None:
        """Count the users on a node, or no longer."""
        for user in cast(tuple[tuple[str, str], ...], seen):
            self._users[user] += sign
            if not self._users[user]:
                del self._users[user]

    def conditions(self) -> Iterable[Condition]:
        """Nobody may; which node it is makes no difference."""
        if self._users:
            yield Condition("", (), partial(_refuse, *min(self._users)))


def _refuse(claim: str, pod: str, _value: str | None) -> str:
    return f"claim {claim} is for one Pod at a time (ReadWriteOncePod); Pod {pod} uses it"

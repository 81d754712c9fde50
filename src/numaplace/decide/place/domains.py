"""Which nodes share a value of a label, as numbers: so that rules about other Pods answer for all nodes at once.

Made for a label when a rule first asks for it; refreshed row by row.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from numaplace.decide.rules import ELSEWHERE, Around, Condition
from numaplace.model.cluster import NodeState

_NONE = -1  # the node has no such label; as an index it means the last entry


class Domains:
    """Nodes by their labels; rows are those of `Rows`."""

    def __init__(self, nodes: Sequence[NodeState]) -> None:
        self._nodes = nodes
        self._values: dict[str, dict[str, int]] = {}  # by label: each value's number
        self._rows: dict[str, NDArray[np.int64]] = {}

    def put(self, i: int) -> None:
        """The labels of row `i` may have changed."""
        for key, rows in self._rows.items():
            rows[i] = self._number(key, self._nodes[i])

    def closed(self, around: Around) -> NDArray[np.bool_]:
        """The rows that `around` refuses."""
        closed = np.zeros(len(self._nodes), np.bool_)
        for condition in around.conditions:
            closed |= self._refused(condition)
        return closed

    def _refused(self, condition: Condition) -> NDArray[np.bool_]:
        rows, values = self._numbered(condition.key), self._values[condition.key]
        refused = np.full(len(values) + 1, bool(condition.refuse(ELSEWHERE)))
        refused[_NONE] = bool(condition.refuse(None))
        for value in condition.told:
            if value in values:
                refused[values[value]] = bool(condition.refuse(value))
        return refused[rows]

    def _numbered(self, key: str) -> NDArray[np.int64]:
        if key not in self._rows:
            self._values[key] = {}
            self._rows[key] = np.array([self._number(key, node) for node in self._nodes], np.int64)
        return self._rows[key]

    def _number(self, key: str, node: NodeState) -> int:
        value, values = node.rules.labels.get(key), self._values[key]
        return _NONE if value is None else values.setdefault(value, len(values))

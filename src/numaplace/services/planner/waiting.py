"""The Pods that wait for a place, in the planner's order, by what they ask.

Pods of one shape get one answer, so after a refusal none of them is tried again until
something was given back; however many wait, a try costs one plan a shape.
"""

import heapq
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from numaplace.decide.place.shape import shape_of
from numaplace.decide.rules import Namespaces, welcomes
from numaplace.model.ids import PodUid
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest

Order = tuple[int, float, str, str]


class _Turn(NamedTuple):
    order: Order
    uid: PodUid


@dataclass(slots=True)
class _Shape:
    """Pods that ask alike, and their last answer."""

    turns: list[_Turn] = field(default_factory=list)  # a heap; whoever left is dropped when it comes up
    due: bool = True
    refusal: Refusal | None = None
    untold: list[PodUid] = field(default_factory=list)  # who came since that answer


class Waiting:
    """Who waits, and who is due."""

    def __init__(self) -> None:
        self._requests: dict[PodUid, PodRequest] = {}
        self._shapes: dict[Hashable, _Shape] = {}
        self._shape_of: dict[PodUid, Hashable] = {}
        self._turn_of: dict[PodUid, _Turn] = {}  # the one that counts: a Pod that asks something else has a new one
        self._due: list[tuple[_Turn, int, Hashable]] = []  # a heap; entries that are out of date are dropped
        self._entries = 0
        self._repelled = False
        self._longing: set[Hashable] = set()  # shapes to whom the coming of others makes a difference

    def __len__(self) -> int:
        return len(self._requests)

    def __contains__(self, uid: PodUid) -> bool:
        return uid in self._requests

    def asked_by(self, uid: PodUid) -> PodRequest | None:
        """What a Pod that waits asks; None if it does not wait."""
        return self._requests.get(uid)

    def refusals(self) -> Iterator[tuple[PodRequest, Refusal | None]]:
        """Everyone who waits, with the last answer."""
        return ((one, self._shapes[self._shape_of[uid]].refusal) for uid, one in self._requests.items())

    def last(self, uid: PodUid) -> Refusal | None:
        """The last refusal of a Pod that waits, even if it is to be tried again."""
        return self._shapes[self._shape_of[uid]].refusal if uid in self._requests else None

    def answer(self, uid: PodUid) -> Refusal | None:
        """The refusal that holds for a Pod now; None if it is to be tried."""
        shape = self._shapes[self._shape_of[uid]]
        return None if shape.due else shape.refusal

    def add(self, request: PodRequest) -> Refusal | None:
        """A Pod waits now; the Refusal of those like it, if it is behind one of them that has been refused."""
        self.remove(request.uid)
        key = shape_of(request, repelled=self._repelled)
        shape = self._shapes.setdefault(key, _Shape())
        if request.rules.affinity or request.rules.spreads:
            self._longing.add(key)
        head = self._head(shape)
        self._requests[request.uid], self._shape_of[request.uid] = request, key
        turn = self._turn_of[request.uid] = _Turn(request.order, request.uid)
        heapq.heappush(shape.turns, turn)
        if not shape.due and head is not None and head < turn:
            return shape.refusal
        shape.untold.append(request.uid)
        self._make_due(key, shape)
        return None

    def remove(self, uid: PodUid) -> None:
        """The Pod waits no more."""
        if self._requests.pop(uid, None) is None:
            return
        key = self._shape_of.pop(uid)
        shape = self._shapes[key]
        del self._turn_of[uid]
        if self._head(shape) is None:
            del self._shapes[key]
            self._longing.discard(key)
        elif shape.due:
            self._make_due(key, shape)

    def mind_labels(self, repelled: bool) -> None:
        """Whether labels make Pods different: only where Pods on nodes mind others by them.

        Without that, the Pods of an indexed Job, each with a label of its own, are of one shape.
        """
        if repelled != self._repelled:
            self._repelled = repelled
            everyone = list(self._requests.values())
            for shelf in (self._requests, self._shapes, self._shape_of, self._turn_of, self._due, self._longing):
                shelf.clear()
            for one in everyone:
                self.add(one)

    def wake(self) -> None:
        """Something was given back: all shapes are due, each for one try at least."""
        for key, shape in self._shapes.items():
            if not shape.due:
                self._make_due(key, shape)

    def welcome(self, came: Iterable[PodRequest], namespaces: Namespaces) -> None:
        """Pods came to nodes: the shapes that may lie near them, or beside them evenly, are due."""
        for key in self._longing:
            shape = self._shapes[key]
            head = None if shape.due else self._head(shape)
            if head is not None and any(welcomes(self._requests[head.uid], one, namespaces) for one in came):
                self._make_due(key, shape)

    def next(self) -> PodRequest | None:
        """The first in the order of those who are due; it stays until it is removed or refused."""
        while self._due:
            turn, _, key = self._due[0]
            shape = self._shapes.get(key)
            if shape is not None and shape.due and self._head(shape) == turn:
                return self._requests[turn.uid]
            heapq.heappop(self._due)
        return None

    def refused(self, request: PodRequest, refusal: Refusal) -> list[PodRequest]:
        """The Pod and all that ask alike wait on; returned are those to whom the code is new."""
        shape = self._shapes[self._shape_of[request.uid]]
        same = shape.refusal is not None and shape.refusal.code is refusal.code
        uids = shape.untold if same else [turn.uid for turn in sorted(shape.turns) if self._stands(turn)]
        shape.due, shape.refusal, shape.untold = False, refusal, []
        return [self._requests[uid] for uid in uids if uid in self._requests]

    def _make_due(self, key: Hashable, shape: _Shape) -> None:
        shape.due = True
        head = self._head(shape)
        if head is not None:
            self._entries += 1
            heapq.heappush(self._due, (head, self._entries, key))

    def _head(self, shape: _Shape) -> _Turn | None:
        while shape.turns and not self._stands(shape.turns[0]):
            heapq.heappop(shape.turns)
        return shape.turns[0] if shape.turns else None

    def _stands(self, turn: _Turn) -> bool:
        return self._turn_of.get(turn.uid) is turn

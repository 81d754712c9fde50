"""The Pods that wait for a place, in the planner's order, by what they ask.

Pods of one shape get one answer, so after a refusal none of them is tried again until
they may have hope: on the nodes where something came free, or on any, where rules about
other Pods may open another node than the one that changed.
"""

import heapq
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from numaplace.decide.place.shape import shape_of
from numaplace.decide.rules import Namespaces, hinders, minds_others, reaches_by_labels, welcomes
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.news import Freed, Joined, Renamed

Order = tuple[int, float, str, str]
Nodes = frozenset[NodeName]
FRESH = 10  # kinds of Pods whose reason is looked for again at one time


class _Turn(NamedTuple):
    order: Order
    uid: PodUid


@dataclass(slots=True)
class _Shape:
    """Pods that ask alike, and their last answer."""

    turns: list[_Turn] = field(default_factory=list)  # a heap; whoever left is dropped when it comes up
    due: bool = True
    hopes: Nodes | None = None  # while due: the nodes that may have a place now; None: any
    refusal: Refusal | None = None
    untold: list[PodUid] = field(default_factory=list)  # who came since that answer

    def inherit(self, parts: Mapping[PodUid, "_Shape"]) -> None:
        """Made of Pods that asked alike before, or parted: the answers that they have stand."""
        due = [part for part in parts.values() if part.due]
        self.refusal = next((part.refusal for part in parts.values() if part.refusal is not None), None)
        if self.refusal is not None and all(part.hopes is not None for part in due):
            code = self.refusal.code
            self.due, self.hopes = bool(due), frozenset().union(*(part.hopes or () for part in due))
            self.untold = [uid for uid, part in parts.items() if part.refusal is None or part.refusal.code is not code]


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
        self._outdated: dict[Hashable, None] = {}  # shapes whose answer may have another reason now
        self._minding: set[Hashable] = set()  # shapes with rules about other Pods

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
        if minds_others(request):
            self._minding.add(key)
        head = self._head(shape)
        self._requests[request.uid], self._shape_of[request.uid] = request, key
        turn = self._turn_of[request.uid] = _Turn(request.order, request.uid)
        heapq.heappush(shape.turns, turn)
        if not shape.due and head is not None and head < turn:
            return shape.refusal
        shape.untold.append(request.uid)
        shape.due, shape.hopes = True, None
        self._enter(key, shape)
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
            self._minding.discard(key)
            self._outdated.pop(key, None)
        elif shape.due:
            self._enter(key, shape)

    def mind_labels(self, repelled: bool) -> None:
        """Whether labels make Pods different: only where Pods on nodes mind others by them.

        Without that, the Pods of an indexed Job, each with a label of its own, are of one shape.
        """
        if repelled == self._repelled:
            return
        self._repelled = repelled
        before = [(one, self._shapes[self._shape_of[uid]]) for uid, one in self._requests.items()]
        for shelf in (self._requests, self._shapes, self._shape_of, self._turn_of, self._due):
            shelf.clear()
        for keys in (self._minding, self._outdated):
            keys.clear()
        for one, _ in before:
            self.add(one)
        parts: dict[Hashable, dict[PodUid, _Shape]] = {}
        for one, shape in before:
            parts.setdefault(self._shape_of[one.uid], {})[one.uid] = shape
        for key, parts_of in parts.items():
            self._shapes[key].inherit(parts_of)

    def hear(self, news: Freed | Joined | Renamed, namespaces: Namespaces) -> None:
        """Something happened that may give hope to some."""
        match news:
            case Freed():
                self._freed(news, namespaces)
            case Joined(requests):
                self._joined(requests, namespaces)
            case Renamed(namespace):
                self._renamed(namespace)

    def refresh(self) -> None:
        """Try a few again of those who have no more hope, but perhaps another reason, since nodes changed."""
        for key in list(self._outdated)[:FRESH]:
            del self._outdated[key]
            self._make_due(key, self._shapes[key])

    def wake(self, nodes: Nodes) -> None:
        """These nodes may have room now: all shapes hope for them."""
        for key, shape in self._shapes.items() if nodes else ():
            if not shape.due:
                shape.due, shape.hopes = True, nodes
                self._enter(key, shape)
            elif shape.hopes is not None:
                shape.hopes |= nodes

    def _freed(self, freed: Freed, namespaces: Namespaces) -> None:
        """There is hope for all where something came free, and anywhere for those whose rules mean who left."""
        repelling = any(one.rules.anti_affinity for one in freed.left)
        for key, shape, request in self._heads(self._shapes if repelling else self._minding):
            moved = freed.changed and bool(request.rules.spreads)  # a constraint counts nodes, too
            if moved or any(hinders(request, one, namespaces) for one in freed.left):
                self._make_due(key, shape)
        if freed.changed:
            self._outdated |= dict.fromkeys(self._shapes)
        self.wake(freed.nodes)

    def _renamed(self, namespace: str) -> None:
        """A namespace has other labels: those whose rules go by them are due, and those there whom others may mean."""
        for key, shape, request in self._heads(self._shapes):
            if reaches_by_labels(request) or (self._repelled and request.namespace == namespace):
                self._make_due(key, shape)

    def _joined(self, came: Iterable[PodRequest], namespaces: Namespaces) -> None:
        """Pods came to nodes: the shapes that may lie near them, or beside them evenly, are due."""
        for key, shape, request in self._heads(self._minding):
            if any(welcomes(request, one, namespaces) for one in came):
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

    def hopes(self, uid: PodUid) -> Nodes | None:
        """The nodes where something came free since a Pod that is due was refused; None: try it anywhere."""
        return self._shapes[self._shape_of[uid]].hopes

    def spare(self, request: PodRequest) -> None:
        """None of these nodes takes the Pod: the answer of those who ask alike stands."""
        shape = self._shapes[self._shape_of[request.uid]]
        if self._head(shape) == self._turn_of[request.uid]:
            shape.due, shape.hopes = False, None

    def refused(self, request: PodRequest, refusal: Refusal) -> list[PodRequest]:
        """The Pod and all that ask alike wait on; returned are those to whom the code is new.

        A node that is held back for one of them in the middle is open to those before it: they stay due.
        """
        key = self._shape_of[request.uid]
        shape = self._shapes[key]
        self._outdated.pop(key, None)
        if refusal.code is Code.HELD_BACK and self._head(shape) != self._turn_of[request.uid]:
            return [request]
        same = shape.refusal is not None and shape.refusal.code is refusal.code
        uids = shape.untold if same else [turn.uid for turn in sorted(shape.turns) if self._stands(turn)]
        shape.due, shape.hopes, shape.refusal, shape.untold = False, None, refusal, []
        return [self._requests[uid] for uid in uids if uid in self._requests]

    def _heads(self, keys: Iterable[Hashable]) -> Iterator[tuple[Hashable, _Shape, PodRequest]]:
        """The shapes that are not to be tried in any case, each with the first of its Pods."""
        for key in keys:
            shape = self._shapes[key]
            head = self._head(shape)
            if head is not None and not (shape.due and shape.hopes is None):
                yield key, shape, self._requests[head.uid]

    def _make_due(self, key: Hashable, shape: _Shape) -> None:
        """To be tried on any node."""
        if not shape.due:
            shape.due = True
            self._enter(key, shape)
        shape.hopes = None

    def _enter(self, key: Hashable, shape: _Shape) -> None:
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

"""The play: Pods come and go in the order of their times, a contender places them, an Outcome is left.

At one instant departures come first, then those who wait (only where something was
given back), then arrivals, and those who waited for such Pods to come; each in the
planner's order, behind the Pods that run already. A Pod without a place does not hold
back those behind it.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from numaplace.decide.place.shape import shape_of
from numaplace.decide.rules import welcomes
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.tools.report.outcome import Landing, Outcome, Unplaced
from numaplace.tools.sim.arrivals import Arrival
from numaplace.tools.sim.contender import Contender

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Moment:
    """All that happens at one instant."""

    at_s: float
    leaving: tuple[Arrival, ...]
    arriving: tuple[Arrival, ...]


def moments(arrivals: Iterable[Arrival]) -> Iterator[Moment]:
    """The instants of an input, in order; a Pod that leaves when it comes is there for no time and is left out."""
    events: list[tuple[float, bool, Arrival]] = []
    for one in arrivals:
        if one.leaves_s is None or one.leaves_s > one.at_s:
            events.append((one.at_s, True, one))
            if one.leaves_s is not None:
                events.append((one.leaves_s, False, one))
    events.sort(key=lambda event: (event[0], event[1], event[2].pod.node_name is None, event[2].request.order))
    for at_s, group in groupby(events, key=lambda event: event[0]):
        same = list(group)
        yield Moment(
            at_s,
            leaving=tuple(one for _, comes, one in same if not comes),
            arriving=tuple(one for _, comes, one in same if comes),
        )


def play(arrivals: Iterable[Arrival], contender: Contender, progress: Progress | None = None) -> Outcome:
    """Play the whole input; `progress` is told how many arrivals were decided since it was told last."""
    stage = _Stage(contender)
    for moment in moments(arrivals):
        freed = {node for one in moment.leaving if (node := stage.leave(one)) is not None}
        if freed:
            stage.retry(list(stage.waiting), freed, moment.at_s)
        for one in moment.arriving:
            stage.arrive(one)
        stage.welcome(moment.at_s)
        if progress is not None:
            progress(len(moment.arriving))
    return stage.outcome()


class _Stage:
    """One run: who landed, who waits."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        self.landings: list[Landing] = []
        self.left = 0
        self.unplaced: dict[PodUid, Unplaced] = {}
        self.waiting: defaultdict[Hashable, list[tuple[tuple[object, ...], PodUid]]] = defaultdict(list)
        self.arrivals: dict[PodUid, Arrival] = {}  # of those who wait
        self.longing: set[Hashable] = set()  # shapes of those to whom the coming of others makes a difference
        self.came: list[PodRequest] = []  # who landed since these were told

    def arrive(self, one: Arrival) -> None:
        answer = self.contender.place(one)
        if isinstance(answer, Landing):
            self._landed(answer)
            return
        self._refused(one, answer)
        self.arrivals[one.request.uid] = one
        shape = shape_of(one.request)
        heapq.heappush(self.waiting[shape], (one.request.order, one.request.uid))
        if one.request.rules.affinity or one.request.rules.spreads:
            self.longing.add(shape)

    def leave(self, one: Arrival) -> NodeName | None:
        """The node that it leaves; one that still waits goes without having run."""
        self.arrivals.pop(one.request.uid, None)
        node = self.contender.release(one)
        self.left += node is not None
        return node

    def welcome(self, now_s: float) -> None:
        """Decide again for those to whom one who came may have opened a node, until nobody comes any more."""
        while self.came:
            came, self.came = self.came, []
            self.longing &= self.waiting.keys()
            shapes = [shape for shape in self.longing if self._welcomes(shape, came)]
            self.retry(shapes, set(), now_s)

    def _welcomes(self, shape: Hashable, came: Iterable[PodRequest]) -> bool:
        head = self._head(shape)
        if head is None:
            return False
        request = self.arrivals[head[1]].request
        return any(welcomes(request, one, self.contender.ledger.company.namespaces) for one in came)

    def retry(self, shapes: Iterable[Hashable], freed: set[NodeName], now_s: float) -> None:
        """Decide again for those who wait, one of each shape until one of that shape is refused."""
        heads = [(head, shape) for shape in shapes if (head := self._head(shape)) is not None]
        heads.sort(key=lambda entry: entry[0][0], reverse=True)
        while heads:
            (_, uid), shape = heads.pop()
            answer = self.contender.place_freed(self.arrivals[uid], freed, now_s)
            if isinstance(answer, Refusal):
                continue
            self._landed(answer)
            del self.unplaced[uid], self.arrivals[uid]
            head = self._head(shape)
            if head is not None:
                heads.append((head, shape))
                heads.sort(key=lambda entry: entry[0][0], reverse=True)

    def _landed(self, landing: Landing) -> None:
        self.landings.append(landing)
        if self.longing:
            self.came.append(landing.request)

    def _head(self, shape: Hashable) -> tuple[tuple[object, ...], PodUid] | None:
        """The first of a shape that still waits."""
        queue = self.waiting[shape]
        while queue and queue[0][1] not in self.arrivals:
            heapq.heappop(queue)
        if not queue:
            del self.waiting[shape]
            return None
        return queue[0]

    def _refused(self, one: Arrival, refusal: Refusal) -> None:
        request = one.request
        reasons = self.contender.reasons(request)
        self.unplaced[request.uid] = Unplaced(request.full_name, one.pod.owner, refusal, reasons, request)

    def outcome(self) -> Outcome:
        contender = self.contender
        return Outcome(
            contender=contender.name,
            landings=tuple(self.landings),
            unplaced=tuple(self.unplaced.values()),
            state=contender.ledger.state,
            left=self.left,
            failures=dict(contender.failures),
        )

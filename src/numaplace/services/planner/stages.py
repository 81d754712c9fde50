"""Stages: what each stage of a Pod's life means for the book.

Called by the keeper, Pod by Pod. What we promised to a gated Pod counts more than its
object, which may be older; what an object says of a Pod that has left its gate counts,
as long as it can be true.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from numaplace.decide.rules import check_promised, check_volumes
from numaplace.decide.track import PodBound, PodEnded, PodGranted, PodHeld, PodReleased, absent, rivals, unusable
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import Holder, NodeState, Phase
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod, Stage
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.services.planner.book import Book
from numaplace.services.planner.news import Altered, Broken, Left, News, Resumes, Waits

_ORDER = {Stage.BOUND: 0, Stage.ENDED: 1, Stage.RELEASED: 2, Stage.OPEN: 3, Stage.WAITS: 4, Stage.FOREIGN: 5}


class Stages:
    """Books Pods by their stage; what follows for the planner goes into `news`."""

    def __init__(
        self,
        book: Book,
        pods: Mapping[PodUid, LivePod],
        settings: Settings,
        clock: Callable[[], float],
        news: list[News],
    ) -> None:
        self._book, self._pods, self._settings, self._clock, self._news = book, pods, settings, clock, news
        self.restoring = False  # the book is made anew: what gated Pods were promised is read back

    def place(self, pod: LivePod) -> None:
        """Book a Pod as its object is now."""
        self._book.relabel(pod)
        match pod.stage:
            case Stage.WAITS | Stage.OPEN:
                self._wait(pod)
                return
            case Stage.RELEASED:
                self._follow(pod)
            case Stage.BOUND:
                self._bind(pod)
            case Stage.ENDED:
                self._end(pod)
            case Stage.FOREIGN:
                self._leave(pod)
        self._news.append(Left(pod.uid, pod.stage))

    def takes(self, node: NodeState, request: PodRequest) -> bool:
        """Whether a node that was planned may still take the Pod."""
        known = node.topology is not None and not node.stale
        return known and check_promised(request, node, self._book.company, self._settings) is None

    def review(self, name: NodeName) -> None:
        """A node reported anew: what it cannot give any more is not promised to those who are not bound yet."""
        node = self._book.nodes[name]
        for uid, holder in node.holders.items():
            if (
                holder.phase is Phase.HELD
                and uid in self._pods
                and (why := _lost(node, holder.request, holder.allocation))
            ):
                self.release(uid)
                self._displaced(uid, why)

    def release(self, uid: PodUid) -> None:
        """Take back what a Pod has in the book."""
        name = self._book.where.get(uid)
        if name is not None:
            self._book.apply(name, PodReleased(uid, name))

    def gone(self, pod: LivePod) -> None:
        """The Pod is there no more, as far as the API server knows."""
        self._end(pod)
        self._news.append(Left(pod.uid, Stage.ENDED))

    # --- stage by stage

    def _wait(self, pod: LivePod) -> None:
        """Its plan is ours to make: what we have promised counts, not what the object says, which may be older."""
        holder = self._book.holder(pod.uid)
        if holder is not None and (holder.request == pod.asks or self._is_kept(pod, holder)):
            return
        self.release(pod.uid)  # it asks something else now
        restored = self._restored(pod) if self.restoring else None
        self._news.append(Waits(pod) if restored is None else Resumes(pod, restored))

    def _is_kept(self, pod: LivePod, holder: Holder) -> bool:
        """Whether only its claims came to something else, and the promised node still takes it: that is booked.

        A claim that waits for its Pod's node is given that node, and then its volume, while the Pod is being bound.
        """
        asks, promised = pod.asks, holder.allocation
        if isinstance(asks, Refusal) or promised is None or not _differs_by_volumes(holder.request, asks):
            return False
        if check_volumes(asks, self._book.nodes[promised.node].rules) is not None:
            return False
        return self._book.take(promised.node, PodHeld(asks, promised, self._clock())) is None

    def _restored(self, pod: LivePod) -> Allocation | None:
        """The promise of the planner before us, held again, if the Pod tells of one and it is still good."""
        allocation = pod.allocation
        if allocation is None or allocation.node != pod.hint or isinstance(pod.asks, Refusal):
            return None
        node = self._book.nodes.get(allocation.node)
        if node is None or not self.takes(node, pod.asks) or _lost(node, pod.asks, allocation):
            return None
        return allocation if self._claim(pod, pod.asks, allocation, Phase.HELD) is None else None

    def _end(self, pod: LivePod) -> None:
        """Ended or gone: what it was promised is free at once, what it used when its node says so."""
        if self.restoring and isinstance(pod.asks, PodRequest) and pod.allocation is not None and self._lists(pod):
            # where another has it by now, it was given back
            self._book.take(pod.allocation.node, PodGranted(pod.asks, pod.allocation, self._clock()))
        holder, name = self._book.holder(pod.uid), self._book.where.get(pod.uid)
        if holder is not None and name is not None:
            uses = holder.phase is not Phase.HELD and (holder.allocation is not None or holder.request.is_planned)
            event = PodEnded(pod.uid, name, self._clock()) if uses else PodReleased(pod.uid, name)
            self._book.apply(name, event)

    def _follow(self, pod: LivePod) -> None:
        """Without gates, on its way: it goes to its destination, whatever we thought."""
        to, said, holder = pod.destination, pod.allocation, self._book.holder(pod.uid)
        if to is None or said is None:
            return  # never: the stage means that it has both; types do not know
        request = pod.asks if holder is None else holder.request
        if isinstance(request, Refusal) or to not in self._book.nodes:
            self.release(pod.uid)
            return
        if self._book.where.get(pod.uid) == to and holder is not None:
            self._heed(pod, to, holder)
            return
        self.release(pod.uid)
        refusal = _elsewhere(pod, to) if said.node != to else _lost(self._book.nodes[to], request, said)
        refusal = refusal or self._claim(pod, request, said, Phase.HELD)
        if refusal is not None:
            self._news.append(Broken(pod, refusal))

    def _bind(self, pod: LivePod) -> None:
        """On its node: the promise becomes a grant; a Pod without one floats."""
        name, holder = pod.node, self._book.holder(pod.uid)
        if name is None or name not in self._book.nodes:
            self.release(pod.uid)
            return
        if holder is None or self._book.where[pod.uid] != name:
            self.release(pod.uid)
            self._arrive(pod, name, pod.asks if holder is None else holder.request)
            return
        if holder.phase is Phase.HELD and holder.allocation is not None:
            self._book.take(name, PodGranted(holder.request, holder.allocation, self._clock()))
        if holder.allocation is not None:
            self._heed(pod, name, holder)
        elif holder.request != pod.asks:
            self._float(name, pod)  # it was resized

    def _arrive(self, pod: LivePod, name: NodeName, request: PodRequest | Refusal) -> None:
        """Bound, and the book of its node does not know it yet."""
        if pod.allocation is None or isinstance(request, Refusal) or pod.strayed:
            self._float(name, pod)
        elif (refusal := self._claim(pod, request, pod.allocation, Phase.GRANTED)) is not None:
            self._float(name, pod)
            self._news.append(Broken(pod, refusal))

    def _leave(self, pod: LivePod) -> None:
        """In other hands, unless it goes where we sent it and only the word of what it gets there is missing."""
        holder, name = self._book.holder(pod.uid), self._book.where.get(pod.uid)
        if holder is not None and name is not None and not pod.gates and pod.destination == name:
            self._heed(pod, name, holder)
        else:
            self.release(pod.uid)

    def _float(self, name: NodeName, pod: LivePod) -> None:
        if isinstance(pod.asks, PodRequest):
            self._book.take(name, PodBound(pod.asks, name, self._clock()))

    # --- what objects say

    def _heed(self, pod: LivePod, name: NodeName, holder: Holder) -> None:
        """What a Pod past its gate says it has counts if it can be true; else it is told again what the book says."""
        said, ours = pod.allocation, holder.allocation
        if ours is None or said == ours:
            return
        possible = said is not None and said.node == name and not absent(self._book.nodes[name], said)
        phase = Phase.HELD if pod.node is None else Phase.GRANTED
        if not possible or said is None or self._claim(pod, holder.request, said, phase) is not None:
            self._news.append(Altered(pod, ours))

    def _claim(self, pod: LivePod, request: PodRequest, said: Allocation, phase: Phase) -> Refusal | None:
        """Book what a Pod's object says; of two that claim the same, who was there first keeps it.

        A Refusal if that is the other. If not, the other gets something else: two planners
        who look at the same objects so agree on who gives way.
        """
        node, event = said.node, (PodHeld if phase is Phase.HELD else PodGranted)(request, said, self._clock())
        known = self._book.nodes.get(node)
        others = () if known is None else rivals(known, Holder(request, said, phase))
        later = [uid for uid in others if self._precedes(pod, uid)]
        if len(later) < len(others):
            return self._book.take(node, event)
        for uid in later:
            self.release(uid)
        refusal = self._book.take(node, event)
        for uid in later:
            self._displaced(uid, Refusal(Code.NODE_RULE, f"Pod {pod.full_name} was there first", node))
        return refusal

    def _precedes(self, pod: LivePod, other: PodUid) -> bool:
        rival = self._pods.get(other)
        return rival is not None and order_of(pod) < order_of(rival)

    def _displaced(self, uid: PodUid, why: Refusal) -> None:
        """Its place is another's: it is planned again, or gets something else on the node that it cannot leave."""
        pod = self._pods[uid]
        match pod.stage:
            case Stage.WAITS | Stage.OPEN:
                self._news.append(Waits(pod))
            case Stage.BOUND if pod.node is not None:
                self._float(pod.node, pod)
                self._news.append(Broken(pod, why))
            case Stage.RELEASED:
                self._news.append(Broken(pod, why))

    def _lists(self, pod: LivePod) -> bool:
        """Whether a Pod that we only know as ended may still use what it was given."""
        node = None if pod.node is None else self._book.nodes.get(pod.node)
        if node is None or pod.allocation is None or pod.allocation.node != node.name:
            return False
        return node.in_use is None or pod.uid in node.in_use


def order_of(pod: LivePod) -> tuple[int, float, str, str]:
    """Who was there first keeps what he has: bound Pods before promised ones, the older before the younger."""
    created_s = pod.asks.created_s if isinstance(pod.asks, PodRequest) else 0.0
    return (_ORDER[pod.stage], created_s, pod.namespace, pod.name)


def _differs_by_volumes(before: PodRequest, now: PodRequest) -> bool:
    return replace(before, rules=replace(before.rules, volumes=now.rules.volumes)) == now


def _elsewhere(pod: LivePod, to: NodeName) -> Refusal:
    return Refusal(Code.NODE_RULE, f"Pod {pod.full_name} is kept to node {to}, but its allocation is not of it", to)


def _lost(node: NodeState, request: PodRequest, promised: Allocation | None) -> Refusal | None:
    """What of a promise the node cannot give any more, by its last report."""
    lost = [] if promised is None else unusable(node, promised)
    return Refusal(Code.NODE_RULE, f"Pod {request.full_name} {lost[0]}", node.name) if lost else None

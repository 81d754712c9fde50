"""Keeper: the sole owner of the ClusterState and of the index over it.

What the watches tell goes in object by object and becomes events of `decide.track`;
what follows for the planner comes out as news. Everything it knows can be read from
the API server again: after a restart it does exactly that.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import MappingProxyType

from numaplace.decide.place import NodeIndex
from numaplace.decide.rules import Namespaces
from numaplace.decide.track import PodGranted, PodHeld, TimePassed
from numaplace.model.allocation import Allocation
from numaplace.model.catalog import Entry, Namespace
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod, Stage
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.services.planner.book import Book
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.lookups import Lookups
from numaplace.services.planner.news import Arrived, Joined, News, Renamed, Strayed, Stuck, Unhinted
from numaplace.services.planner.nodes import Nodes
from numaplace.services.planner.reports import Reports
from numaplace.services.planner.residents import Residents
from numaplace.services.planner.stages import Stages, order_of


class Keeper:
    """The book of the cluster. Until `open`, and after `close`, it only collects what there is.

    `nodes` is told of nodes and reports, the keeper itself of everything else.
    `looks_up` False: nobody tells of claims and volumes, so they are not judged.
    """

    def __init__(
        self,
        settings: Settings,
        limits: Limits,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
        looks_up: bool = True,
    ) -> None:
        self.settings, self._limits, self._clock, self._wall = settings, limits, clock, wall
        self.pods: dict[PodUid, LivePod] = {}
        self._residents, self._lookups, self._looks_up = Residents(), Lookups(), looks_up
        self._book, self._news = Book(), list[News]()
        self._stages = Stages(self._book, self.pods, settings, clock, self._news)
        reports = Reports(limits.silent_s, clock=clock, wall=wall)
        self.nodes = Nodes(self._book, self._stages, self.pods, self._residents, reports, settings)
        self.index = NodeIndex(ClusterState(), settings)
        self._stuck_since: dict[PodUid, float] = {}

    # --- what others may ask

    @property
    def is_open(self) -> bool:
        """Whether the book is kept."""
        return self._book.is_open

    @property
    def state(self) -> ClusterState:
        """The cluster as of now."""
        return ClusterState(MappingProxyType(dict(self._book.nodes)), MappingProxyType(self._lookups.namespaces))

    @property
    def namespaces(self) -> Namespaces:
        """Their labels, as far as they are known."""
        return self._lookups.namespaces

    def node(self, name: NodeName) -> NodeState | None:
        """One node as of now."""
        return self._book.nodes.get(name)

    def holder(self, uid: PodUid) -> Holder | None:
        """What a Pod holds or was promised, on whatever node."""
        return self._book.holder(uid)

    def promised(self, uid: PodUid) -> Allocation | None:
        """What a Pod that is not bound yet was promised."""
        holder = self.holder(uid)
        return holder.allocation if holder is not None and holder.phase is Phase.HELD else None

    def keeps_rules(self, uid: PodUid) -> bool:
        """Whether the node that was promised to a Pod may still take it."""
        holder, name = self.holder(uid), self._book.where.get(uid)
        return holder is not None and name is not None and self._stages.takes(self._book.nodes[name], holder.request)

    def news(self) -> list[News]:
        """What happened since this was asked last."""
        news = self._news.copy()
        self._news.clear()
        freed, joined = self._book.take_freed(), self._book.take_joined()
        news += [freed] if freed else []
        return news + ([Joined(joined)] if joined else [])

    def refresh(self) -> NodeIndex:
        """The index, brought up to date."""
        changed, nodes = self._book.take_changed(), self._book.nodes
        self.index.update(*(nodes[name] for name in changed if name in nodes))
        self.index.remove(*(changed - nodes.keys()))
        return self.index

    # --- what the watches tell

    def open(self) -> None:
        """Everything was listed once: book nodes, then reports, then Pods; those that are bound first."""
        self._book.is_open = self._stages.restoring = True
        self._book.company.rename(self._lookups.namespaces)
        self.nodes.enter()
        for pod in sorted(self.pods.values(), key=order_of):
            self._note_stuck(pod)
            self._stages.place(pod)
            if pod.stage is Stage.BOUND and pod.refused_with:
                self._news.append(Arrived(pod))  # while nobody led: it still says that it waits
        self._stages.restoring = False
        self._book.take_changed()
        self.index = NodeIndex(self.state, self.settings, self._book.company)

    def close(self) -> None:
        """Forget the book, and go on collecting."""
        self._book.clear()
        self._news.clear()
        self._stuck_since.clear()
        self.index = NodeIndex(ClusterState(), self.settings)

    def see_pod(self, pod: LivePod) -> None:
        """A Pod is there, new or changed."""
        before = self.pods.get(pod.uid)
        pod = self.pods[pod.uid] = self._lookups.read(pod) if self._looks_up else pod
        self._residents.put(pod)
        if self.is_open:
            self._note_stuck(pod)
            self._stages.place(pod)
            if pod.stage is Stage.OPEN and pod.unschedulable:
                self._note_failure(pod, before)
            if pod.stage is Stage.BOUND and (before is None or before.stage is not Stage.BOUND):
                self._note_arrival(pod)

    def lose_pod(self, uid: PodUid) -> None:
        """A Pod is there no more."""
        pod = self.pods.pop(uid, None)
        self._residents.forget(uid)
        self._lookups.forget(uid)
        if pod is not None and self.is_open:
            self._stuck_since.pop(uid, None)
            self._stages.gone(pod)

    def see_entry(self, entry: Entry) -> None:
        """A namespace, claim, volume or storage class is there, new or changed."""
        self._look_up(entry, self._lookups.see)

    def lose_entry(self, entry: Entry) -> None:
        """One of this name is there no more."""
        self._look_up(entry, self._lookups.lose)

    def _look_up(self, entry: Entry, take: Callable[[Entry], Iterable[PodUid]]) -> None:
        """Pods whose claims may come to something else are seen anew; other labels of a namespace may open nodes."""
        before = self._lookups.labels_of(entry.name)
        for uid in take(entry):
            if uid in self.pods:
                self.see_pod(self.pods[uid])
        if self.is_open and isinstance(entry, Namespace) and self._lookups.labels_of(entry.name) != before:
            self._book.company.rename(self._lookups.namespaces)
            self._news.append(Renamed(entry.name))

    def pass_time(self) -> None:
        """Look at what only time changes: ended Pods, silent agents, plans that the scheduler refuses."""
        now_s = self._clock()
        for name in self._book.ending():
            self._book.apply(name, TimePassed(now_s, self.settings.release_grace_s))
        self.nodes.pass_time()
        for uid, since_s in list(self._stuck_since.items()):
            pod, node = self.pods.get(uid), self._going_to(uid)
            if pod is not None and node is not None and now_s - since_s >= self._limits.stuck_s:
                self._stuck_since[uid] = float("inf")  # told once
                self._news.append(Stuck(pod, node))

    # --- what the planner decides

    def dated(self, allocation: Allocation) -> Allocation:
        """The decision with its time, by which a replay knows what was decided before what."""
        return replace(allocation, planned_s=self._wall())

    def hold(self, request: PodRequest, allocation: Allocation) -> Refusal | None:
        """Promise a place to a Pod that is not bound; a Refusal if it is taken."""
        self._stuck_since.pop(request.uid, None)  # that was said of another plan
        return self._book.take(allocation.node, PodHeld(request, allocation, self._clock()))

    def grant(self, request: PodRequest, allocation: Allocation) -> Refusal | None:
        """Give a bound Pod another allocation on its node; a Refusal if it is taken."""
        return self._book.take(allocation.node, PodGranted(request, allocation, self._clock()))

    def release(self, uid: PodUid) -> None:
        """Take back what was promised to a Pod; what a bound Pod has stays its own."""
        if self.promised(uid) is not None:
            self._stages.release(uid)

    def _going_to(self, uid: PodUid) -> NodeName | None:
        """Where a Pod that is past the gate is on its way to: the promise, or what it is kept to."""
        promised, pod = self.promised(uid), self.pods.get(uid)
        if promised is not None:
            return promised.node
        return pod.destination if pod is not None and pod.stage is Stage.RELEASED else None

    def _note_stuck(self, pod: LivePod) -> None:
        if pod.stage in (Stage.RELEASED, Stage.OPEN) and pod.unschedulable:
            self._stuck_since.setdefault(pod.uid, self._clock())
        else:
            self._stuck_since.pop(pod.uid, None)

    def _note_arrival(self, pod: LivePod) -> None:
        """The Pod was bound just now; whoever stands in a node's book since before is no news."""
        self._news.append(Arrived(pod))
        holder = self.holder(pod.uid)
        if pod.strayed and (holder is None or holder.allocation is None):
            self._news.append(Strayed(pod))

    def _note_failure(self, pod: LivePod, before: LivePod | None) -> None:
        """The scheduler found no node for a Pod without a pin: tell whether it has looked at the promised one.

        It takes the hint away when it has; where it never saw the hint, the Pod has to be told again.
        """
        promised = self.promised(pod.uid)
        if promised is None or pod.hint == promised.node:
            return
        was_hinted = before is not None and before.hint == promised.node
        self._news.append(Stuck(pod, promised.node) if was_hinted else Unhinted(pod, promised))

"""Nodes: what Node objects and reports tell, and how a node comes into the book with its Pods.

The keeper's own, and the watches' way to it. What is told is known while the book is
closed, too; `enter` books all of it.
"""

from collections.abc import Mapping

from numaplace.decide.track import NodeGone, NodeSeen, NodeSilent, ReportArrived, steadied
from numaplace.model.cluster import Phase
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod
from numaplace.model.rules import NodeRules
from numaplace.model.settings import Settings
from numaplace.services.planner.book import Book
from numaplace.services.planner.reports import Reports
from numaplace.services.planner.residents import Residents
from numaplace.services.planner.stages import Stages, order_of
from numaplace.wire.nodes import ReportObject


class Nodes:
    """The nodes' rules and reports as they were told last."""

    def __init__(
        self,
        book: Book,
        stages: Stages,
        pods: Mapping[PodUid, LivePod],
        residents: Residents,
        reports: Reports,
        settings: Settings,
    ) -> None:
        self._book, self._stages, self._pods, self._residents = book, stages, pods, residents
        self._reports, self._settings = reports, settings
        self._rules: dict[NodeName, NodeRules] = {}

    def enter(self) -> None:
        """Enter all nodes in the book, without Pods."""
        for name in self._rules:
            self._appears(name)

    def age_s(self, name: NodeName) -> float | None:
        """How long ago a node's agent was heard of; None if it never says, or nothing is known of it."""
        return self._reports.age_s(name)

    def see(self, rules: NodeRules) -> None:
        """A node is there, and shows these rules."""
        before = self._rules.get(rules.name)
        rules = steadied(rules, before, self._settings)
        if rules == before:
            return
        self._rules[rules.name] = rules
        if not self._book.is_open:
            return
        if before is None:
            self._appears(rules.name)
            self._place_all_of(rules.name)
        else:
            self._book.apply(rules.name, NodeSeen(rules.name, rules))

    def lose(self, name: NodeName) -> None:
        """A node was deleted: what was promised on it to gated Pods is planned again."""
        self._rules.pop(name, None)
        if name in self._book.nodes:
            self._empty(name)

    def see_report(self, name: NodeName, report: ReportObject) -> None:
        """An agent reported; InputError when it cannot be read, and the node then has no topology."""
        try:
            fresh = self._reports.take(name, report)
        except InputError:
            self.lose_report(name)
            raise
        node = self._book.nodes.get(name)
        if node is None or not (fresh or node.stale):
            return
        if name in self._reports.known:
            self._apply_report(name)
        else:
            self._forget_machine(name)

    def lose_report(self, name: NodeName) -> None:
        """A report is gone: nothing is known of the node's machine."""
        self._reports.forget(name)
        self._forget_machine(name)

    def pass_time(self) -> None:
        """What agents reported that are silent now is not built upon."""
        for name in self._reports.silent():
            if name in self._book.nodes and not self._book.nodes[name].stale:
                self._book.apply(name, NodeSilent(name))

    def _appears(self, name: NodeName) -> None:
        self._book.apply(name, NodeSeen(name, self._rules[name]))
        if name in self._reports.known:
            self._apply_report(name)

    def _forget_machine(self, name: NodeName) -> None:
        """What was known of it is not built upon; a report that stays broken changes nothing again."""
        node = self._book.nodes.get(name)
        if node is not None and node.topology is not None:
            self._empty(name)

    def _empty(self, name: NodeName) -> None:
        """Forget a node's book and book anew what there is; gated Pods that were promised a place there wait again."""
        holders = self._book.nodes[name].holders
        promised = [uid for uid, holder in holders.items() if holder.phase is Phase.HELD]
        self._book.apply(name, NodeGone(name))
        if name in self._rules:
            self._appears(name)
            self._place_all_of(name)
        for uid in promised:
            if uid in self._pods and self._book.holder(uid) is None:
                self._stages.place(self._pods[uid])

    def _apply_report(self, name: NodeName) -> None:
        report = self._reports.known[name]
        self._book.apply(name, ReportArrived(name, report.topology, report.reserved, report.in_use, report.found))
        self._stages.review(name)
        if self._reports.is_silent(name):
            self._book.apply(name, NodeSilent(name))

    def _place_all_of(self, name: NodeName) -> None:
        """Book the Pods of a node that is new to us, or known anew."""
        for pod in sorted((self._pods[uid] for uid in self._residents.on(name)), key=order_of):
            self._stages.place(pod)

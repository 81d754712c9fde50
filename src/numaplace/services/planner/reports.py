"""The last report of each node, and how long ago its agent was heard of.

Owned by the keeper. A report is decoded only when its text changed; agents that say
when they were alive are timed by the planner's own clock from then on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from numaplace.model.ids import NodeName
from numaplace.wire.nodes import ReportObject
from numaplace.wire.report import Report, renewed_s, report_of, texts_of


@dataclass(slots=True)
class _Heard:
    renewed_s: float  # by the agent's clock
    at_s: float  # by ours


class Reports:
    """What each agent said last."""

    def __init__(self, limit_s: float, *, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._clock, self._wall, self._limit_s = clock, wall, limit_s
        self.known: dict[NodeName, Report] = {}
        self._digests: dict[NodeName, bytes] = {}  # of the texts, which are large
        self._heard: dict[NodeName, _Heard] = {}

    def take(self, name: NodeName, report: ReportObject) -> bool:
        """Take a report in; whether it says anything new. InputError where it is broken: then nothing is known."""
        self._hear(name, renewed_s(report))
        digest = sha256(repr(texts_of(report)).encode()).digest()
        if self._digests.get(name) == digest:
            return False
        self.forget(name, silent=False)
        self._digests[name] = digest
        found = report_of(report)
        if found is not None:
            self.known[name] = found
        return True

    def forget(self, name: NodeName, *, silent: bool = True) -> None:
        """The report is gone; with `silent` also when its agent was heard of."""
        self.known.pop(name, None)
        self._digests.pop(name, None)
        if silent:
            self._heard.pop(name, None)

    def age_s(self, name: NodeName) -> float | None:
        """How long ago the agent of this node was heard of; None if it never says."""
        heard = self._heard.get(name)
        return None if heard is None else self._clock() - heard.at_s

    def silent(self) -> Iterator[NodeName]:
        """The nodes whose agents were not heard of for longer than the limit."""
        return (name for name in self._heard if self.is_silent(name))

    def is_silent(self, name: NodeName) -> bool:
        """Whether the agent of this node was not heard of for longer than the limit; False if it never says."""
        age_s = self.age_s(name)
        return age_s is not None and age_s > self._limit_s

    def _hear(self, name: NodeName, renewed: float | None) -> None:
        if renewed is None:
            self._heard.pop(name, None)
            return
        before = self._heard.get(name)
        if before is None:  # clocks may differ, but a report that looks old at first sight is better not built upon
            self._heard[name] = _Heard(renewed, self._clock() - max(0.0, self._wall() - renewed))
        elif before.renewed_s != renewed:
            self._heard[name] = _Heard(renewed, self._clock())

"""The steps of a Pod's way at which something can go wrong, as they pass between the planner and others.

A step is caught in a `FaultyProxy` on its way: before it is done, or when it is done
and nobody knows yet.
"""

import re
from dataclasses import dataclass
from typing import Any

from tests.cluster.faulty_proxy import WATCH, Moment, Trap
from tests.cluster.stage import is_bound, refusal
from tests.services.planner.reader import allocation_of


@dataclass(frozen=True, slots=True)
class Step:
    """One request, or piece of a watch: its method, how its path goes on, and what its body says."""

    what: str
    moment: Moment
    method: str
    path: str  # a regular expression for all of the end of it
    says: bytes = b""
    of_a_pod: bool = True
    waits: bool = False  # only Pods that had to wait come by
    asks: bool = False  # between the scheduler and the planner, not between that and the API server

    @property
    def name(self) -> str:
        return f"{self.moment} {self.what}"

    def trap(self, prefix: str, skip: int) -> Trap:
        """For Pods of this prefix, after so many."""
        ends, about = re.compile(self.path + "$"), prefix.encode() if self.of_a_pod else b""

        def fits(method: str, path: str, body: bytes) -> bool:
            known = method == self.method and ends.search(path) is not None
            return known and self.says in body and (about in body or about in path.encode())

        return Trap(fits, self.moment, skip if self.of_a_pod else 0)


def _both(what: str, method: str, path: str, says: bytes = b"", **more: bool) -> list[Step]:
    return [Step(what, moment, method, path, says, **more) for moment in Moment]


_POD = r"/pods/[\w-]+"
STEPS = (
    Step("hold", Moment.BEFORE, WATCH, "/pods"),
    *_both("refusal", "PATCH", f"{_POD}/status", b'"False"', waits=True),
    *_both("refusal's event", "POST", "/events", b"NumaRefused", waits=True),
    *_both("hint", "PATCH", f"{_POD}/status", b"nominatedNodeName"),
    *_both("ungate", "PATCH", _POD, b"schedulingGates"),
    *_both("filter", "POST", "/filter", asks=True),
    *_both("bind", "POST", "/bind", asks=True),
    *_both("binding", "POST", f"{_POD}/binding"),
    Step("grant", Moment.BEFORE, WATCH, "/pods", b'"nodeName"'),
    *_both("event", "POST", "/events", b"NumaPlaced", waits=True),
    *_both("renewal", "PUT", "/leases/.*", of_a_pod=False),
)


def stands(pod: dict[str, Any]) -> str:
    """How far a Pod is, as its object tells."""
    if is_bound(pod):
        return "bound"
    if not pod["spec"].get("schedulingGates"):
        return "let go" if allocation_of(pod) else "free without a plan"
    return "hinted" if allocation_of(pod) else "refused" if refusal(pod) else "at the gate"

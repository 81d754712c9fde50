"""Why a Pod has no place, node by node and grouped: `9 nodes: taint …; 3 nodes: needs 4 GPUs …`."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from numaplace.decide.place import Placement, judge, nearness
from numaplace.decide.place.shape import shape_of
from numaplace.decide.rules import Around, check
from numaplace.model.cluster import NodeState
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.report.outcome import Reason
from numaplace.tools.sim.ledger import Ledger

ASKED_AT_MOST = 4_000  # answers of nodes in one run; a search that failed is the slowest kind of answer


class Asking:
    """Asks every node once for each shape of Pod, while the run can afford it."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.left = ASKED_AT_MOST
        self.known: dict[Hashable, tuple[Reason, ...]] = {}
        self.told: dict[Hashable, Refusal] = {}

    def once(self, request: PodRequest, why_not: Callable[[PodRequest], Refusal]) -> Refusal:
        """The refusal of the first Pod of this shape; copies of a Deployment are not explained one by one."""
        shape = shape_of(request)
        if shape not in self.told:
            self.told[shape] = why_not(request)
        return self.told[shape]

    def reasons(self, request: PodRequest) -> tuple[Reason, ...]:
        """The grouped answers; none when the run has already asked for too many."""
        shape = shape_of(request)
        if shape in self.known:
            return self.known[shape]
        ledger = self.ledger
        self.left -= len(ledger.nodes)
        if self.left < 0:
            return ()
        around = ledger.company.around(request)
        self.known[shape] = reasons_of(refusals(ledger.nodes.values(), request, ledger.settings, around))
        return self.known[shape]


def refusals(
    nodes: Iterable[NodeState], request: PodRequest, settings: Settings, around: Around | None
) -> Sequence[Refusal]:
    """The refusal of every node that has one, the nearest miss first."""
    answers = ((node, answer_of(node, request, settings, around)) for node in nodes)
    refused = [(nearness(node, request, one), one) for node, one in answers if isinstance(one, Refusal)]
    return [one for _, one in sorted(refused, key=lambda pair: pair[0])]


def answer_of(
    node: NodeState, request: PodRequest, settings: Settings, around: Around | None
) -> Placement | Refusal | None:
    """One node's answer; None: it takes the Pod, and nobody looks inside."""
    if request.is_planned:
        return judge(node, request, settings, around)
    return check(request, node.rules, node.requests, settings, around)


def reasons_of(answers: Iterable[Refusal]) -> tuple[Reason, ...]:
    """Equal codes together; rules by what they ask, which is the first half of their sentence. Nearest misses first."""
    groups: dict[tuple[Code, str], list[Refusal]] = {}
    for one in answers:
        by_rule = one.code in (Code.NODE_RULE, Code.NODE_NOT_ENABLED)
        groups.setdefault((one.code, one.sentence.partition(";")[0] if by_rule else ""), []).append(one)
    rows = [Reason(code, _sentence(members), len(members)) for (code, _), members in groups.items()]
    return tuple(sorted(rows, key=lambda row: (-row.code.precedence, -row.nodes, row.sentence)))


def _sentence(members: list[Refusal]) -> str:
    """The first one's sentence, marked as an example where others have other numbers."""
    first = members[0].sentence
    asked, _, had = first.partition("; ")
    return first if all(one.sentence == first for one in members) or not had else f"{asked}; for example {had}"

"""The many-node path: the best node for a Pod without searching every node.

For each kind of request a table keeps every node's rank, exact or a bound. The lowest
entry is searched until it is exact; a changed node falls back to its bound. Gives the
same answer as judging each node by itself (tests/properties).
"""

from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numaplace.decide.place.ask import Ask, ask_of
from numaplace.decide.place.bounds import NOWHERE, bounds_of, packed
from numaplace.decide.place.choose import choose
from numaplace.decide.place.nearest import nearest_of
from numaplace.decide.place.place import Placement, judge, placement_of
from numaplace.decide.place.rank import parts_of, rank_of
from numaplace.decide.place.refuse import code_of
from numaplace.decide.place.room import Room
from numaplace.decide.place.rows import Ints, Rows
from numaplace.decide.place.sentence import grouped
from numaplace.decide.place.signature import signature_of
from numaplace.decide.place.trial import Choice
from numaplace.decide.place.verdicts import Verdicts
from numaplace.decide.rules import Company, rules_key, wishes_met
from numaplace.model.cluster import ClusterState, NodeState
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.ids import NodeName
from numaplace.model.refusal import NO_NODE, Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings

TABLE_BYTES = 128 << 20  # for kinds of requests remembered at once ...
ENTRY_BYTES = 10  # ... each with this much a node
LOG_ENTRIES = 1 << 20  # changes of nodes; past this the tables begin anew, so that a long life fills no memory
FEW = 4  # rows whose search costs less than vector operations on them
MAX_ANSWERS = 200_000  # searches remembered; about 1 KB each

_CODES = list(Code)
_NOT_ASKED = -1


@dataclass(slots=True)
class _Table:
    """One kind of request on every node."""

    ranks: Ints
    exact: NDArray[np.bool_]
    verdicts: Verdicts
    codes: NDArray[np.int8]  # why a node refuses: position in Code, or _NOT_ASKED
    seen: int  # how much of the log of changes it has taken in


class NodeIndex:
    """Finds the best node for one Pod after another; owned by one planner, told of every change."""

    def __init__(
        self,
        state: ClusterState,
        settings: Settings = Settings(),
        company: Company | None = None,  # of the same nodes, where somebody else keeps one up to date
        *,
        log_entries: int = LOG_ENTRIES,
    ) -> None:
        self.settings = settings
        self._log_entries = log_entries
        self.rows = Rows(tuple(state.nodes.values()))
        self.company = Company(state) if company is None else company
        self._keeps_company = company is None
        self._tables: OrderedDict[Hashable, _Table] = OrderedDict()
        self._log: list[int] = []  # rows changed, oldest first
        self._answers: dict[tuple[Ask, Hashable], Choice | None] = {}

    @property
    def nodes(self) -> dict[NodeName, NodeState]:
        """The nodes as the index knows them, by name."""
        return {node.name: node for node in self.rows.nodes}

    def node(self, name: NodeName) -> NodeState:
        """The node of this name; KeyError if there is none."""
        return self.rows.nodes[self.rows.position[name]]

    def update(self, *nodes: NodeState) -> None:
        """Take new values of nodes in; new names are added."""
        if self._keeps_company:
            self.company.update(*nodes)
        if all(self.rows.fits(node) for node in nodes):
            self._log.extend(self.rows.put(node) for node in nodes)
            if len(self._log) > self._log_entries:
                self._forget()
        else:
            self._start_over({**self.nodes, **{node.name: node for node in nodes}}.values())

    def remove(self, *names: NodeName) -> None:
        """Forget nodes, all at once, since the rows begin anew; names that are not known are passed over."""
        gone = self.rows.position.keys() & names
        if self._keeps_company:
            for name in gone:
                self.company.remove(name)
        if gone:
            self._start_over(node for node in self.rows.nodes if node.name not in gone)

    def best(self, request: PodRequest, closed: Collection[NodeName] = ()) -> Placement | None:
        """The best placement on any node that is not `closed`, or None; ties in rank go to the lower node name."""
        ask = ask_of(request)
        table, around = self._table(request, ask), self.company.around(request)
        ranks = table.ranks
        if closed or around is not None:
            shut = self.rows.domains.closed(around) if around is not None else np.zeros(len(ranks), np.bool_)
            shut[[self.rows.position[name] for name in closed]] = True
            ranks = np.where(shut, NOWHERE, ranks)
        while len(ranks):
            i = int(ranks.argmin())
            if ranks[i] == NOWHERE:
                break
            if table.exact[i]:
                return self._placement(i, request, ask)
            table.ranks[i] = ranks[i] = self._exact_rank(table, i, request, ask)
            table.exact[i] = True
        return None

    def takes(self, request: PodRequest, names: Iterable[NodeName]) -> bool:
        """Whether any of these nodes takes the Pod now; what `best` says, for the cost of these nodes alone."""
        ask = ask_of(request)
        known = (self.rows.position[name] for name in names if name in self.rows.position)
        able = [i for i in known if (room := self.rows.rooms[i]) is not None and self._choice(room, ask) is not None]
        if not able:
            return False
        table, around = self._tables.get(self._key(request, ask)), self.company.around(request)
        verdicts = Verdicts(request, self.settings) if table is None else table.verdicts
        nodes = (self.rows.nodes[i] for i in able)
        return any(
            verdicts.refuses(node, request) is None and (around is None or around.refuse(node.rules) is None)
            for node in nodes
        )

    def why_not(self, request: PodRequest, closed: Collection[NodeName] = ()) -> Refusal:
        """Why `best` found nothing: the codes of all nodes counted, and the nearest miss in full.

        The code is that of the nearest miss (`nearest.py`).
        """
        ask = ask_of(request)
        table, around = self._table(request, ask), self.company.around(request)
        shut = None if around is None else self.rows.domains.closed(around)
        for name in closed:
            i = self.rows.position[name]
            if shut is not None and shut[i]:
                continue
            if table.ranks[i] != NOWHERE and self._exact_rank(table, i, request, ask) != NOWHERE:
                return Refusal(Code.HELD_BACK, f"node {name} would do, but is held back for a Pod before it", name)
        for unasked in np.flatnonzero(table.codes == _NOT_ASKED):
            table.codes[unasked] = self._code(table, int(unasked), request, ask).precedence
        if not len(table.codes):
            return NO_NODE
        codes = table.codes
        if shut is not None:  # those who refuse by a rule of their own have said so before
            codes = np.where(shut & (codes > Code.NODE_RULE.precedence), np.int8(Code.NODE_RULE.precedence), codes)
        last = int(codes.max())
        nearest = nearest_of(self.rows, ask, _CODES[last], np.flatnonzero(codes == last))
        refusal = judge(self.rows.nodes[nearest], request, self.settings, around)
        if not isinstance(refusal, Refusal):
            raise BrokenPromiseError(f"node {self.rows.nodes[nearest].name} takes {request.full_name} after all")
        counts = np.bincount(codes, minlength=len(_CODES))
        return grouped(refusal, {code: int(counts[place]) for place, code in enumerate(_CODES) if counts[place]})

    def _code(self, table: _Table, i: int, request: PodRequest, ask: Ask) -> Code:
        room, refusal = self.rows.rooms[i], table.verdicts.refuses(self.rows.nodes[i], request)
        if refusal is not None:
            return refusal.code
        if room is None:
            return Code.STALE_TOPOLOGY if self.rows.nodes[i].stale else Code.NO_TOPOLOGY
        return code_of(room, ask)

    def _start_over(self, nodes: Iterable[NodeState]) -> None:
        self.rows = Rows(tuple(nodes))
        self._forget()

    def _forget(self) -> None:
        """Drop what is remembered of the rows; it is bounded anew when it is asked for."""
        self._tables.clear()
        self._log.clear()

    def _key(self, request: PodRequest, ask: Ask) -> Hashable:
        return (ask, rules_key(request, repelled=self.company.repels))

    def _table(self, request: PodRequest, ask: Ask) -> _Table:
        key = self._key(request, ask)
        table = self._tables.get(key)
        if table is None:
            ranks = bounds_of(self.rows, ask, self.settings, np.arange(len(self.rows.nodes)))
            codes = np.full(len(ranks), _NOT_ASKED, np.int8)
            table = _Table(ranks, ranks == NOWHERE, Verdicts(request, self.settings), codes, len(self._log))
            self._tables[key] = table
            if len(self._tables) * ENTRY_BYTES * max(1, len(ranks)) > TABLE_BYTES:
                self._tables.popitem(last=False)
        self._tables.move_to_end(key)
        if table.seen < len(self._log):
            changed = np.unique(np.array(self._log[table.seen :], np.int64))
            table.ranks[changed] = self._bounds(changed, ask)
            table.exact[changed] = table.ranks[changed] == NOWHERE
            table.codes[changed] = _NOT_ASKED
            table.seen = len(self._log)
        return table

    def _bounds(self, rows: Ints, ask: Ask) -> Ints:
        """The packed rank of these rows at best; a few are searched at once, so they have the least there is."""
        if len(rows) > FEW:
            return bounds_of(self.rows, ask, self.settings, rows)
        return np.array([NOWHERE if self.rows.rooms[i] is None else 0 for i in rows], np.int64)

    def _exact_rank(self, table: _Table, i: int, request: PodRequest, ask: Ask) -> int:
        node, room = self.rows.nodes[i], self._room(i)
        if table.verdicts.refuses(node, request):
            return NOWHERE
        choice = self._choice(room, ask)
        if choice is None:
            return NOWHERE
        parts = parts_of(room, ask, choice, wishes_met(request, node.rules), self.settings)
        return packed(rank_of(choice, parts))

    def _choice(self, room: Room, ask: Ask) -> Choice | None:
        key = (ask, signature_of(room, ask))
        if key not in self._answers:
            if len(self._answers) >= MAX_ANSWERS:
                self._answers.clear()
            self._answers[key] = choose(room, ask)
        return self._answers[key]

    def _placement(self, i: int, request: PodRequest, ask: Ask) -> Placement:
        node, room = self.rows.nodes[i], self._room(i)
        choice = self._choice(room, ask)
        if choice is None:
            raise BrokenPromiseError(f"node {node.name} was ranked without a place for {request.full_name}")
        return placement_of(node, room, request, ask, choice, self.settings)

    def _room(self, i: int) -> Room:
        room = self.rows.rooms[i]
        if room is None:
            raise BrokenPromiseError(f"node {self.rows.nodes[i].name} was ranked before its topology was known")
        return room

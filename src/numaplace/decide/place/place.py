"""One Pod on one node: the exact answer, with its rank or its reasons.

The single-node path. `plan` and the many-node index give the same answers for many
nodes; `explain` calls this one node after node.
"""

from dataclasses import dataclass, replace

from numaplace.decide.place.ask import Ask, ask_of
from numaplace.decide.place.build import allocation_of
from numaplace.decide.place.choose import choose
from numaplace.decide.place.rank import Part, Rank, parts_of, rank_of
from numaplace.decide.place.refuse import refuse
from numaplace.decide.place.room import Room, room_of
from numaplace.decide.place.trial import Choice
from numaplace.decide.rules import Around, check, wishes_met
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import NodeState
from numaplace.model.refusal import SHORT, Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Placement:
    """A place found on one node, and how good it is among nodes."""

    allocation: Allocation
    rank: Rank
    parts: tuple[Part, ...]


def judge(
    node: NodeState, request: PodRequest, settings: Settings = Settings(), around: Around | None = None
) -> Placement | Refusal:
    """What one node says to one Pod: its rules first, then its topology; `around` as in `decide.rules.check`.

    Where both find the same resource short, the topology's sentence has the numbers of each numa.
    """
    ruled = check(request, node.rules, node.requests, settings, around)
    if ruled is None:
        return place_on(node, request, settings)
    if ruled.code not in SHORT or not request.is_planned:
        return replace(ruled, node=node.name)
    answer = place_on(node, request, settings)
    return answer if isinstance(answer, Refusal) and answer.code is ruled.code else replace(ruled, node=node.name)


def place_on(node: NodeState, request: PodRequest, settings: Settings = Settings()) -> Placement | Refusal:
    """Place `request` on `node`, as the contract's key demands, or say why not.

    Judges topology only; node rules (`decide/rules`) are the caller's matter. Devices that
    the Pod itself already holds there are not free to it: release it first.
    """
    if node.topology is None:
        return Refusal(Code.NO_TOPOLOGY, f"node {node.name} has not reported its topology", node.name)
    if node.stale:
        sentence = f"node {node.name} has a topology, but its agent has been silent for too long"
        return Refusal(Code.STALE_TOPOLOGY, sentence, node.name)
    room, ask = room_of(node), ask_of(request)
    choice = choose(room, ask)
    if choice is None:
        return refuse(node.name, room, ask)
    return placement_of(node, room, request, ask, choice, settings)


def placement_of(
    node: NodeState, room: Room, request: PodRequest, ask: Ask, choice: Choice, settings: Settings
) -> Placement:
    """A choice written out: the exact CPUs and devices, and how it ranks."""
    parts = parts_of(room, ask, choice, wishes_met(request, node.rules), settings)
    return Placement(allocation_of(node, room, request, ask, choice), rank_of(choice, parts), parts)

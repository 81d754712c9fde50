"""Holds one Pod against every node: the same verbs as a placement, asked for their reasons."""

from collections.abc import Iterable

from numaplace.decide.place import Placement, Room, nearness, room_of
from numaplace.decide.rules import Around
from numaplace.model.cluster import NodeState
from numaplace.model.layout import homed
from numaplace.model.refusal import NO_NODE, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.report.explanation import Explanation, NodeView, NumaView, Supply
from numaplace.tools.sim.reasons import answer_of


def explain(
    nodes: Iterable[NodeState], request: PodRequest, settings: Settings, around: Around | None = None
) -> Explanation:
    """Every node's answer: those that take the Pod by rank, then refusals, the nearest miss first.

    `around` is what the Pods of the whole cluster mean for it, which may be more than `nodes`.
    """
    seen = [(view_of(node, request, settings, around), node) for node in nodes]
    views = [view for view, _ in sorted(seen, key=lambda one: _rank_of(one[0], one[1], request))]
    nearest = views[0].answer if views else NO_NODE
    return Explanation(request, request.full_name, nearest if isinstance(nearest, Refusal) else None, tuple(views))


def view_of(node: NodeState, request: PodRequest, settings: Settings, around: Around | None) -> NodeView:
    """One node's answer and what each of its numas has."""
    answer = answer_of(node, request, settings, around)
    return NodeView(node.name, answer, _numas(node, request, answer) if request.is_planned else ())


def _rank_of(view: NodeView, node: NodeState, request: PodRequest) -> tuple[object, ...]:
    if isinstance(view.answer, Refusal):
        return (1, nearness(node, request, view.answer))
    rank = None if view.answer is None else view.answer.rank
    return (0, (0, 0, 0) if rank is None else (rank.width, rank.marks, rank.loss_ppm), view.node)


def _numas(node: NodeState, request: PodRequest, answer: Placement | Refusal | None) -> tuple[NumaView, ...]:
    if node.layout is None:
        return ()
    room = room_of(node)
    chosen = answer.allocation.numas if isinstance(answer, Placement) else ()
    return tuple(
        NumaView(id, _supplies(room, i, request), room.marks_of(i), id in chosen)
        for i, id in enumerate(room.layout.numas)
    )


def _supplies(room: Room, i: int, request: PodRequest) -> tuple[Supply, ...]:
    layout = room.layout
    here_gpus, here_hcas = homed(layout.gpu_home, (i,)), homed(layout.hca_home, (i,))
    hcas = room.hcas if request.hcas_exclusive else room.healthy_hcas
    asked_cpus = request.cpus or -(-request.shared_cpu_milli // 1000)
    return (
        Supply("CPUs", asked_cpus, room.gives[i], layout.cpus[i].bit_count()),
        Supply("GPUs", request.gpus, (room.gpus & here_gpus).bit_count(), here_gpus.bit_count()),
        Supply("HCAs", request.hcas, (hcas & here_hcas).bit_count(), here_hcas.bit_count()),
        Supply("memory", request.memory_bytes, room.memory[i], layout.memory[i]),
    )

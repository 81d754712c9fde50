"""From the planner's book to Holdings: the same sums that a placement starts from, put beside their owners."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from numaplace.decide.place import Room, ask_of, asked_text, room_of
from numaplace.decide.rules import is_enabled
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.cpuset import CpuSet
from numaplace.model.keys import PLAN_GATE
from numaplace.model.layout import UNKNOWN, Layout
from numaplace.model.live_pod import LivePod, Stage, foreign_gates
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.live.reading import Reading
from numaplace.tools.report.holdings import (
    Holdings,
    NodeHoldings,
    NumaHoldings,
    PodHoldings,
    Share,
    Stock,
    WaitingPod,
)

_LAST = (2**31, 0.0)  # behind the lowest priority


def holdings_of(reading: Reading, *, nodes: Collection[str] = (), namespace: str = "") -> Holdings:
    """Who holds what and who waits; only these nodes and the Pods of this namespace, where some are named."""
    keeper, settings, state = reading.keeper, reading.keeper.settings, reading.keeper.state
    chosen = [state.nodes[name] for name in sorted(state.nodes) if not nodes or name in nodes]
    waiting = sorted((pod for pod in keeper.pods.values() if _waits(pod)), key=_turn)
    return Holdings(
        at_s=reading.objects.at_s,
        nodes=tuple(node_holdings(node, keeper.nodes.age_s(node.name), settings, namespace) for node in chosen),
        waiting=tuple(_waiting(pod) for pod in waiting if namespace in ("", pod.namespace)),
        problems=reading.problems,
    )


def node_holdings(node: NodeState, age_s: float | None, settings: Settings, namespace: str = "") -> NodeHoldings:
    """One node; amounts count every Pod, and those of `namespace` are shown."""
    holders = sorted(node.holders.values(), key=lambda one: one.request.full_name)
    shown = [one for one in holders if namespace in ("", one.request.namespace)]
    return NodeHoldings(
        node=node.name,
        report="none" if node.topology is None else "stale" if node.stale else "fresh",
        report_age_s=age_s,
        enabled=is_enabled(node.rules, settings),
        cordoned=node.rules.cordoned,
        numas=() if node.layout is None else tuple(_numas(node, node.layout, shown, settings)),
        pods=tuple(_pod(one) for one in shown),
    )


def _pod(holder: Holder) -> PodHoldings:
    request, allocation = holder.request, holder.allocation
    return PodHoldings(
        pod=request.full_name,
        uid=request.uid,
        phase=holder.phase,
        numas=None if allocation is None else allocation.numas,
        gpu_hca=None if allocation is None else allocation.gpu_hca,
        shared_cpu_milli=request.shared_cpu_milli + (1000 * request.cpus if allocation is None else 0),
        unnamed_gpus=request.foreign_gpus + (request.gpus if allocation is None else 0),
    )


def _numas(node: NodeState, layout: Layout, holders: list[Holder], settings: Settings) -> Iterator[NumaHoldings]:
    room = room_of(node)
    shares: defaultdict[int, list[Share]] = defaultdict(list)
    for holder in holders:
        for i, share in _shares(node, layout, holder):
            shares[i].append(share)
    for i, id in enumerate(layout.numas):
        yield NumaHoldings(
            numa=id,
            cpus=Stock(room.gives[i], layout.cpus[i].bit_count()),
            memory=Stock(room.memory[i], layout.memory[i]),
            marks=room.marks_of(i),
            shares=tuple(shares[i]),
            **_device_stocks(room, layout, i, settings),
        )
    if UNKNOWN in (*layout.gpu_home, *layout.hca_home):
        stocks = _device_stocks(room, layout, UNKNOWN, settings)
        yield NumaHoldings(None, Stock(0, 0), memory=Stock(0, 0), marks=(), shares=tuple(shares[UNKNOWN]), **stocks)


def _device_stocks(room: Room, layout: Layout, home: int, settings: Settings) -> dict[str, Stock]:
    """GPUs and HCAs of one numa: faulty ones are there and not free; shared HCAs are never taken."""
    gpus = sum(1 << at for at, where in enumerate(layout.gpu_home) if where == home)
    hcas = sum(1 << at for at, where in enumerate(layout.hca_home) if where == home)
    free_hcas = room.hcas if settings.hcas_exclusive else room.healthy_hcas
    return {
        "gpus": Stock((room.gpus & gpus).bit_count(), gpus.bit_count()),
        "hcas": Stock((free_hcas & hcas).bit_count(), hcas.bit_count()),
    }


def _shares(node: NodeState, layout: Layout, holder: Holder) -> Iterator[tuple[int, Share]]:
    """What a Pod has, by position of the numa; one that has nothing of its own is shown where it belongs."""
    allocation, topology = holder.allocation, node.topology
    if allocation is None or topology is None:
        return
    gpu_home = dict(zip((gpu.pci for gpu in topology.gpus), layout.gpu_home, strict=True))
    hca_home = dict(zip((hca.name for hca in topology.hcas), layout.hca_home, strict=True))
    for i in [*range(len(layout.numas)), UNKNOWN]:
        gpus = tuple(gpu.pci for gpu in allocation.gpus if gpu_home.get(gpu.pci, UNKNOWN) == i)
        hcas = tuple(hca.name for hca in allocation.hcas if hca_home.get(hca.name, UNKNOWN) == i)
        cpus = CpuSet() if i == UNKNOWN else CpuSet(allocation.cpus.bits & layout.cpus[i])
        belongs = i != UNKNOWN and layout.numas[i] in allocation.numas and not (allocation.cpus or allocation.gpus)
        milli, memory = (0, 0) if i == UNKNOWN else _charged(allocation, layout, i)
        if gpus or hcas or cpus or milli or memory or belongs:
            yield i, Share(holder.request.full_name, holder.phase, cpus, milli, gpus, hcas, memory)


def _charged(allocation: Allocation, layout: Layout, i: int) -> tuple[int, int]:
    charges = [one for one in allocation.charges if one.numa == layout.numas[i]]
    return sum(one.shared_cpu_milli for one in charges), sum(one.memory_bytes for one in charges)


def _waits(pod: LivePod) -> bool:
    """At our gate, whether or not it is the planner's turn; or refused and let go, so that the scheduler asks."""
    asked = not pod.gates and bool(pod.refused_with)
    return pod.stage is Stage.WAITS or (pod.stage is Stage.FOREIGN and (PLAN_GATE in pod.gates or asked))


def _turn(pod: LivePod) -> tuple[int, float, str, str]:
    """The planner's order; whoever asks wrongly comes last."""
    return pod.asks.order if isinstance(pod.asks, PodRequest) else (*_LAST, pod.namespace, pod.name)


def _waiting(pod: LivePod) -> WaitingPod:
    asks = pod.asks
    return WaitingPod(
        pod=pod.full_name,
        uid=pod.uid,
        code=asks.code if isinstance(asks, Refusal) else pod.refused_with,
        gates=foreign_gates(pod.gates),
        asks="" if isinstance(asks, Refusal) else asked_text(ask_of(asks)),
        created_s=None if isinstance(asks, Refusal) else asks.created_s,
    )

"""Totals of an Outcome: how full the cluster is, how well Pods lie, what would still fit.

The table, the JSON and the comparison all print these and nothing they count themselves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numaplace.decide.place import GPU_SIZES, room_of, served_gpus
from numaplace.decide.rules import is_enabled
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.proximity import Level
from numaplace.model.settings import Settings
from numaplace.tools.report.outcome import Landing, Outcome
from numaplace.tools.report.words import counted


@dataclass(frozen=True, slots=True)
class StillFits:
    """How many more Pods of `gpus` GPUs, with CPUs in proportion, the enabled nodes could take at once."""

    gpus: int
    in_one_numa: int
    in_one_node: int


@dataclass(frozen=True, slots=True)
class Totals:
    """One outcome in numbers."""

    nodes: int
    asked: int  # Pods
    placed: int  # that ran at some time
    unplaced: int
    planned: int  # placed by choice of devices: what alignment is counted of
    aligned: int
    gpus: int
    gpus_taken: int  # at the end
    gpu_seconds: float  # GPUs times the seconds they were held, of Pods with an end
    multi_gpu: int  # planned Pods of two GPUs or more
    gpus_together: int  # of these: all GPUs in as few NUMA domains as this node could have at best
    gpu_cpu: int  # planned Pods with GPUs and CPUs
    cpus_beside_gpus: int  # of these: CPUs only in the GPUs' domains
    gpu_hca: Mapping[str, int]  # Pods by the level of their farthest GPU from its nearest HCA
    still_fits: tuple[StillFits, ...]


def totals_of(outcome: Outcome, settings: Settings) -> Totals:
    """Count an outcome."""
    nodes = outcome.state.nodes
    planned = [one for one in outcome.landings if one.allocation is not None and one.request.is_planned]
    multi = [one for one in planned if one.allocation is not None and len(one.allocation.gpus) > 1]
    mixed = [one for one in planned if one.request.gpus and one.request.rules.amounts.cpu_milli]
    return Totals(
        nodes=len(nodes),
        asked=len(outcome.landings) + len(outcome.unplaced),
        placed=len(outcome.landings),
        unplaced=len(outcome.unplaced),
        planned=len(planned),
        aligned=sum(1 for one in planned if one.aligned),
        gpus=sum(whole_gpus(node, settings) for node in nodes.values()),
        gpus_taken=sum(taken_gpus(node, settings) for node in nodes.values()),
        gpu_seconds=sum(_gpu_seconds(one) for one in planned),
        multi_gpu=len(multi),
        gpus_together=sum(1 for one in multi if _together(one, nodes[one.node])),
        gpu_cpu=len(mixed),
        cpus_beside_gpus=sum(1 for one in mixed if _cpus_beside_gpus(one, nodes[one.node])),
        gpu_hca=_levels(planned),
        still_fits=still_fits(nodes.values(), settings),
    )


def whole_gpus(node: NodeState, settings: Settings) -> int:
    """Cards that can be handed out whole; of a machine that is not known, as many as its kubelet offers."""
    if node.topology is not None:
        return sum(1 for gpu in node.topology.gpus if not gpu.mig and not gpu.fault)
    offered = {} if node.rules.allocatable is None else node.rules.allocatable.others
    return sum(offered.get(name, 0) for name in (settings.gpu_resource, *settings.foreign_gpu_resources))


def taken_gpus(node: NodeState, settings: Settings) -> int:
    """Cards in hands, by name or by number."""
    return sum(held_gpus(holder, settings) for holder in node.holders.values())


def held_gpus(holder: Holder, settings: Settings) -> int:
    """Cards of one Pod: those of its allocation, else as many as it asks under any name."""
    if holder.allocation is not None:
        return len(holder.allocation.gpus)
    return holder.request.gpus + unnamed_gpus(holder, settings)


def unnamed_gpus(holder: Holder, settings: Settings) -> int:
    """Cards that another device plugin chose, so nobody here knows which."""
    others = holder.request.rules.amounts.others
    return sum(others.get(name, 0) for name in settings.foreign_gpu_resources)


def still_fits(nodes: Iterable[NodeState], settings: Settings) -> tuple[StillFits, ...]:
    """Room for aligned Pods of each size on the nodes that take Pods of ours."""
    in_numa, in_node = dict.fromkeys(GPU_SIZES, 0), dict.fromkeys(GPU_SIZES, 0)
    for node in nodes:
        if node.layout is None or node.rules.cordoned or not is_enabled(node.rules, settings):
            continue
        served = served_gpus(room_of(node))
        for size in GPU_SIZES:
            in_numa[size] += sum(gpus // size for gpus in served)
            in_node[size] += sum(served) // size
    return tuple(StillFits(size, in_numa[size], in_node[size]) for size in GPU_SIZES)


def still_fits_text(totals: Totals) -> str:
    """`3 × 4 GPUs, 6 × 2 GPUs in one NUMA node`, largest first."""
    sizes = [
        f"{one.in_one_numa:,} × {counted(one.gpus, 'GPU')}" for one in reversed(totals.still_fits) if one.in_one_numa
    ]
    return f"{' or '.join(sizes)}, in one NUMA node each" if sizes else "no further Pod with a GPU in one NUMA node"


def _gpu_seconds(one: Landing) -> float:
    gpus = 0 if one.allocation is None else len(one.allocation.gpus)
    return 0.0 if one.until_s is None else gpus * max(0.0, one.until_s - one.at_s)


def _homes(one: Landing, node: NodeState) -> set[int]:
    """The numas, by position, of the Pod's GPUs; an unknown one counts as a numa of its own."""
    if one.allocation is None or node.topology is None or node.layout is None:
        return set()
    held = {gpu.pci for gpu in one.allocation.gpus}
    return {node.layout.gpu_home[i] for i, gpu in enumerate(node.topology.gpus) if gpu.pci in held}


def _together(one: Landing, node: NodeState) -> bool:
    if one.allocation is None or node.layout is None:
        return False
    homes = node.layout.gpu_home
    left, fewest = len(one.allocation.gpus), 0
    for size in sorted((homes.count(home) for home in set(homes)), reverse=True):
        if left <= 0:
            break
        left, fewest = left - size, fewest + 1
    return len(_homes(one, node)) <= fewest


def _cpus_beside_gpus(one: Landing, node: NodeState) -> bool:
    """Whether every CPU that the Pod may run on lies in a domain of its GPUs."""
    if one.allocation is None or node.layout is None:
        return False
    layout, homes = node.layout, _homes(one, node)
    own = one.allocation.cpus.bits
    if own:
        return not any(bits & own for i, bits in enumerate(layout.cpus) if i not in homes)
    confined = {charge.numa for charge in one.allocation.charges if charge.shared_cpu_milli}
    where = confined or set(layout.numas)
    return where <= {layout.numas[home] for home in homes if home >= 0}


def _levels(landings: Iterable[Landing]) -> dict[str, int]:
    reached = [one.allocation.gpu_hca for one in landings if one.allocation and one.allocation.gpu_hca is not None]
    return {level.name: reached.count(level) for level in Level if level in reached}

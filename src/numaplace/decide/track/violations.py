"""What is wrong in a node's book: the invariants of the contract, checked from scratch.

Tests end with it; nothing that runs calls it, since `reduce` refuses what would break one.
"""

from collections.abc import Iterator
from itertools import combinations

from numaplace.decide.track.clash import owned
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import NodeState
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.topology import Topology


def violations(node: NodeState) -> list[str]:
    """One sentence for each broken promise in the node's book; empty when it is right."""
    found = list(_double_owners(node))
    for holder in node.holders.values():
        if holder.allocation is not None:
            found.extend(f"Pod {holder.request.full_name} {text}" for text in absent(node, holder.allocation))
    found.extend(_overfull(node))
    return found


def _double_owners(node: NodeState) -> Iterator[str]:
    for a, b in combinations(node.holders.values(), 2):
        mine, theirs = owned(a), owned(b)
        for key, things in mine.items():
            for thing in sorted(map(str, things & theirs[key])):
                yield f"{key[0]} {thing} belong to both {a.request.full_name} and {b.request.full_name}"


def absent(node: NodeState, allocation: Allocation) -> list[str]:
    """What an allocation names and the node, as reported, does not have (lost, offline, reserved or never there)."""
    return [] if node.topology is None else list(_absent(node.topology, node.reserved, allocation))


def unusable(node: NodeState, allocation: Allocation) -> list[str]:
    """The same of a promise, which may still be changed: a card that broke is no good either."""
    if node.topology is None:
        return []
    faults = {card.pci: card.fault for card in node.topology.gpus} | {hca.name: hca.fault for hca in node.topology.hcas}
    cards = [("GPU", gpu.pci) for gpu in allocation.gpus] + [("HCA", hca.name) for hca in allocation.hcas]
    broken = [f"owns {kind} {card}, which must not be used: {faults[card]}" for kind, card in cards if faults.get(card)]
    return absent(node, allocation) + broken


def _absent(topology: Topology, reserved: CpuSet, allocation: Allocation) -> Iterator[str]:
    usable = topology.online - reserved
    if strange := allocation.cpus - usable:
        yield f"owns CPUs {strange}, which are not usable"
    gpus, hcas = {gpu.pci for gpu in topology.gpus}, {hca.name for hca in topology.hcas}
    for gpu in allocation.gpus:
        if gpu.pci not in gpus:
            yield f"owns GPU {gpu.pci}, which the node does not have"
    for hca in allocation.hcas:
        if hca.name not in hcas:
            yield f"owns HCA {hca.name}, which the node does not have"


def _overfull(node: NodeState) -> Iterator[str]:
    """Numas that owe confined Pods more CPUs than their owners leave."""
    layout = node.layout
    if layout is None:
        return
    exclusive = union(holder.allocation.cpus for holder in node.holders.values() if holder.allocation)
    for id, bits in zip(layout.numas, layout.cpus, strict=True):
        charged = sum(
            charge.shared_cpu_milli
            for holder in node.holders.values()
            if holder.allocation
            for charge in holder.allocation.charges
            if charge.numa == id
        )
        free = (bits & ~exclusive.bits).bit_count()
        if charged > 1000 * free:
            yield f"numa {id} owes confined Pods {charged} milli-CPUs and has {free} CPUs left"

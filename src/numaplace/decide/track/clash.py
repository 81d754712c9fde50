"""Whether a Pod's allocation takes something that another Pod already holds."""

from collections.abc import Hashable

from numaplace.model.allocation import Allocation
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.ids import PodUid
from numaplace.model.refusal import Code, Refusal


def clash(node: NodeState, holder: Holder) -> Refusal | None:
    """The first exclusive thing that `holder` and another Pod of the node would both own."""
    for uid in rivals(node, holder):
        other = node.holders[uid]
        for (kind, code), both in _both(holder, other).items():
            what = ", ".join(sorted(map(str, both)))
            sentence = f"{kind} {what} of node {node.name} already belong to Pod {other.request.full_name}"
            return Refusal(code, sentence, node.name)
    return None


def rivals(node: NodeState, holder: Holder) -> tuple[PodUid, ...]:
    """The other Pods of the node that own something which `holder` would own too, by UID."""
    if holder.allocation is None:
        return ()
    cpus, cards = holder.allocation.cpus.bits, _cards(holder.allocation)
    near = [
        uid
        for uid, other in node.holders.items()
        if other.allocation is not None
        and uid != holder.request.uid
        and (cpus & other.allocation.cpus.bits or not cards.isdisjoint(_cards(other.allocation)))
    ]
    return tuple(uid for uid in sorted(near) if _both(holder, node.holders[uid]))


def _both(one: Holder, other: Holder) -> dict[tuple[str, Code], frozenset[Hashable]]:
    mine, theirs = owned(one), owned(other)
    return {key: both for key, things in theirs.items() if (both := things & mine[key])}


def owned(holder: Holder) -> dict[tuple[str, Code], frozenset[Hashable]]:
    """What a holder owns alone: CPUs by number, GPUs by address, HCAs by name where HCAs are exclusive."""
    allocation = holder.allocation
    cpus = frozenset(allocation.cpus) if allocation else frozenset()
    gpus = frozenset(gpu.pci for gpu in allocation.gpus) if allocation else frozenset()
    exclusive = allocation is not None and holder.request.hcas_exclusive
    hcas = frozenset(hca.name for hca in allocation.hcas) if allocation and exclusive else frozenset()
    return {("CPUs", Code.CPUS_SHORT): cpus, ("GPUs", Code.GPUS_SHORT): gpus, ("HCAs", Code.HCAS_SHORT): hcas}


def _cards(allocation: Allocation) -> set[str]:
    """GPUs by address and HCAs by name: what may belong to somebody, looked at quickly."""
    shares = allocation.containers.values()
    return {gpu.pci for share in shares for gpu in share.gpus} | {hca.name for share in shares for hca in share.hcas}

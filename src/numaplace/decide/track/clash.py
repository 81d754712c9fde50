"""Whether a Pod's allocation takes something that another Pod already holds."""

from collections.abc import Hashable

from numaplace.model.allocation import Allocation
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.refusal import Code, Refusal


def clash(node: NodeState, holder: Holder) -> Refusal | None:
    """The first exclusive thing that `holder` and another Pod of the node would both own."""
    if holder.allocation is None:
        return None
    cpus, cards = holder.allocation.cpus.bits, _cards(holder.allocation)
    rivals = [
        (uid, other)
        for uid, other in node.holders.items()
        if other.allocation is not None
        and uid != holder.request.uid
        and (cpus & other.allocation.cpus.bits or not cards.isdisjoint(_cards(other.allocation)))
    ]
    wanted = owned(holder) if rivals else {}
    for _, other in sorted(rivals):
        for (kind, code), things in owned(other).items():
            both = things & wanted[kind, code]
            if both:
                what = ", ".join(sorted(map(str, both)))
                sentence = f"{kind} {what} of node {node.name} already belong to Pod {other.request.full_name}"
                return Refusal(code, sentence, node.name)
    return None


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

"""Whether a Pod's allocation takes something that another Pod already holds."""

from collections.abc import Hashable

from numaplace.model.cluster import Holder, NodeState
from numaplace.model.refusal import Code, Refusal


def clash(node: NodeState, holder: Holder) -> Refusal | None:
    """The first exclusive thing that `holder` and another Pod of the node would both own."""
    wanted = owned(holder)
    for uid, other in sorted(node.holders.items()):
        if uid == holder.request.uid:
            continue
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

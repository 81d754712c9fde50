"""Rule: the node's allocatable amounts hold the Pod beside the Pods that are there.

This is the scheduler's node-level count; where on the node the amounts lie is the
placer's matter.
"""

from collections.abc import Iterable, Iterator

from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import CPU, HUGEPAGES, MEMORY, Amounts, NodeRules
from numaplace.model.settings import Settings

_GIB = 2**30


def refuse(request: PodRequest, node: NodeRules, others: Iterable[PodRequest], settings: Settings) -> Refusal | None:
    """The first amount that is short, with both numbers; what a node does not tell is not judged.

    The code is that of the resource (CPUS_SHORT, GPUS_SHORT …); NODE_RULE for other
    resources, for what the node does not offer at all, and for its number of Pods.
    """
    present = [one.rules.amounts for one in others]
    if node.max_pods is not None and len(present) >= node.max_pods:
        return Refusal(Code.NODE_RULE, f"the node is full: {len(present)} of {node.max_pods} Pods", node.name)
    if node.allocatable is None:
        return None
    for resource, sentence in _short(request.rules.amounts, node.allocatable, present):
        return Refusal(_code(resource, node.allocatable, settings), sentence, node.name)
    return None


def _code(resource: str, offered: Amounts, settings: Settings) -> Code:
    if resource.startswith(HUGEPAGES):
        return Code.HUGEPAGES_SHORT
    codes = {CPU: Code.CPUS_SHORT, MEMORY: Code.MEMORY_SHORT}
    if offered.others.get(resource):
        gpus = dict.fromkeys((settings.gpu_resource, *settings.foreign_gpu_resources), Code.GPUS_SHORT)
        codes |= {**gpus, settings.hca_resource: Code.HCAS_SHORT}
    return codes.get(resource, Code.NODE_RULE)


def _short(asked: Amounts, offered: Amounts, present: list[Amounts]) -> Iterator[tuple[str, str]]:
    """Resource and sentence of each amount that does not fit; what is not asked is never short."""
    free_milli = max(0, offered.cpu_milli - sum(one.cpu_milli for one in present))
    if asked.cpu_milli > free_milli:
        free = f"{_cpus(free_milli)} of {_cpus(offered.cpu_milli)}"
        yield CPU, f"needs {_cpus(asked.cpu_milli)} CPUs; the node has {free} free"
    free_bytes = max(0, offered.memory_bytes - sum(one.memory_bytes for one in present))
    if asked.memory_bytes > free_bytes:
        free = f"{_gib(free_bytes)} of {_gib(offered.memory_bytes)}"
        yield MEMORY, f"needs {_gib(asked.memory_bytes)} memory; the node has {free} free"
    for resource, amount in sorted(asked.others.items()):
        offer = offered.others.get(resource, 0)
        free_units = max(0, offer - sum(one.others.get(resource, 0) for one in present))
        if amount > free_units:
            has = f"has {free_units} of {offer} free" if offer else "does not offer it"
            yield resource, f"needs {amount} {resource[:80]}; the node {has}"


def _cpus(milli: int) -> str:
    return f"{milli / 1000:g}"


def _gib(amount_bytes: int) -> str:
    return f"{amount_bytes / _GIB:.1f} GiB"

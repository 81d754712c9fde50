"""Rule: the node's allocatable amounts hold the Pod beside the Pods that are there.

This is the scheduler's node-level count; where on the node the amounts lie is the
placer's matter.
"""

from collections.abc import Iterable, Iterator

from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import Amounts, NodeRules

_GIB = 2**30


def refuse(request: PodRequest, node: NodeRules, others: Iterable[PodRequest]) -> Refusal | None:
    """NODE_RULE naming the first amount that is short, with both numbers; what a node does not tell is not judged."""
    present = [one.rules.amounts for one in others]
    if node.max_pods is not None and len(present) >= node.max_pods:
        return Refusal(Code.NODE_RULE, f"the node is full: {len(present)} of {node.max_pods} Pods", node.name)
    if node.allocatable is None:
        return None
    short = next(_short(request.rules.amounts, node.allocatable, present), None)
    return None if short is None else Refusal(Code.NODE_RULE, short, node.name)


def _short(asked: Amounts, offered: Amounts, present: list[Amounts]) -> Iterator[str]:
    """One sentence per amount that does not fit; what is not asked is never short."""
    free_milli = max(0, offered.cpu_milli - sum(one.cpu_milli for one in present))
    if asked.cpu_milli > free_milli:
        free = f"{_cpus(free_milli)} of {_cpus(offered.cpu_milli)}"
        yield f"needs {_cpus(asked.cpu_milli)} CPUs; the node has {free} free"
    free_bytes = max(0, offered.memory_bytes - sum(one.memory_bytes for one in present))
    if asked.memory_bytes > free_bytes:
        free = f"{_gib(free_bytes)} of {_gib(offered.memory_bytes)}"
        yield f"needs {_gib(asked.memory_bytes)} memory; the node has {free} free"
    for resource, amount in sorted(asked.others.items()):
        offer = offered.others.get(resource, 0)
        free_units = max(0, offer - sum(one.others.get(resource, 0) for one in present))
        if amount > free_units:
            has = f"has {free_units} of {offer} free" if offer else "does not offer it"
            yield f"needs {amount} {resource[:80]}; the node {has}"


def _cpus(milli: int) -> str:
    return f"{milli / 1000:g}"


def _gib(amount_bytes: int) -> str:
    return f"{amount_bytes / _GIB:.1f} GiB"

"""How much a whole Pod asks: the Kubernetes formula over init, sidecar and app containers.

Init containers run one after the other; a sidecar, once started, stays. The same
sum serves the node-level rules and the placement.
"""

from collections.abc import Callable

from numaplace.model.pod import Container, Pod
from numaplace.model.request import ContainerKind
from numaplace.model.rules import CPU, HUGEPAGES, MEMORY, Amounts

_POD_LEVEL = (CPU, MEMORY, HUGEPAGES)  # what spec.resources may set for the whole Pod


def effective(pod: Pod, amount_of: Callable[[Container], int]) -> int:
    """The most that is in use at one time, in the unit of `amount_of`; overhead not included.

    Source: Kubernetes sidecar containers, resource sharing within containers.
    """
    staying, starting = 0, 0
    for container in pod.containers:
        amount = amount_of(container)
        if container.kind is ContainerKind.INIT:
            starting = max(starting, staying + amount)
        else:
            staying += amount
    return max(staying, starting)


def effective_milli(pod: Pod, resource: str) -> int:
    """The Pod's request of one resource as the scheduler counts it, in thousandths, overhead included."""
    if resource in pod.pod_level_milli and resource.startswith(_POD_LEVEL):
        amount = pod.pod_level_milli[resource]
    else:
        amount = effective(pod, lambda container: container.request_milli(resource))
    return amount + pod.overhead_milli.get(resource, 0)


def units(milli: int) -> int:
    """Whole units, rounded up."""
    return -(-milli // 1000)


def resources_of(pod: Pod) -> tuple[str, ...]:
    """Every resource the Pod names, sorted."""
    names = {*pod.overhead_milli, *pod.pod_level_milli}
    for container in pod.containers:
        names.update(container.requests_milli, container.limits_milli)
    return tuple(sorted(names))


def node_amounts(pod: Pod) -> Amounts:
    """What the Pod takes from its node by the scheduler's count."""
    others = {name: units(effective_milli(pod, name)) for name in resources_of(pod) if name not in (CPU, MEMORY)}
    return Amounts(
        cpu_milli=effective_milli(pod, CPU),
        memory_bytes=units(effective_milli(pod, MEMORY)),
        others={name: amount for name, amount in others.items() if amount},
    )

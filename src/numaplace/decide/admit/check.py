"""From a decoded Pod to a `PodRequest`, or one refusal that names every fault at once.

The planner, the command line and the simulator all come through here; admission
policies in the cluster say the same as far as their language can.
"""

from collections.abc import Iterator
from dataclasses import replace

from numaplace.decide.admit import resources
from numaplace.decide.admit.formula import effective, effective_milli, node_amounts, units
from numaplace.decide.admit.wishes import Wishes, read_wishes
from numaplace.model import keys
from numaplace.model.pod import Container, Pod
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import (
    ContainerKind,
    ContainerRequest,
    CpuMode,
    CpuRule,
    Hugepages,
    MemoryMode,
    PodRequest,
    Policy,
)
from numaplace.model.rules import CPU, HUGEPAGES, MEMORY
from numaplace.model.settings import Settings

_EXCLUDING_LABELS = ("gpu-topology", "gpu-topology-replica")
_EXCLUDING_RESOURCES = ("gpu-mem", "gpu-count", "gpu-core.percentage")  # of the domain of our GPU resource
_CPU_POLICY = "cpu-policy"
_FAULTS_SHOWN = 4


def check(pod: Pod, settings: Settings) -> PodRequest | Refusal:
    """What the Pod asks, summed up; or SPEC_INVALID with the field, what it holds and what would be right.

    Rules: docs/reference/pod-rules.md. Pods that ask nothing of ours pass with
    `is_planned` False; their amounts still count on their node.
    """
    wishes, faults = read_wishes(pod)
    faults += tuple(_rule_faults(pod, wishes, settings))
    if faults:
        more = f" (and {len(faults) - _FAULTS_SHOWN} more)" if len(faults) > _FAULTS_SHOWN else ""
        return Refusal(Code.SPEC_INVALID, f"Pod {pod.full_name}: {'. Also: '.join(faults[:_FAULTS_SHOWN])}{more}")
    return _request(pod, wishes, settings)


def check_bound(pod: Pod, settings: Settings) -> PodRequest:
    """What a Pod that has its node takes there: what it asks, or its bare amounts where `check` refuses its words."""
    request = check(pod, settings)
    return _request(pod, Wishes(), settings) if isinstance(request, Refusal) else request


def _rule_faults(pod: Pod, wishes: Wishes, settings: Settings) -> Iterator[str]:
    gpus, hcas = _devices(pod, settings)
    planned = wishes.names_placement or gpus > 0 or (hcas > 0 and settings.hcas_exclusive)
    yield from resources.amount_faults(pod)
    yield from resources.hca_faults(pod, settings)
    yield from resources.memory_faults(pod, wishes)
    if wishes.exclusive_cpus:
        yield from resources.exclusive_cpu_faults(pod, settings)
    if wishes.names_placement:
        yield from resources.foreign_gpu_faults(pod, settings)
    if planned:
        yield from _excluding_faults(pod, settings)
        if pod.pod_level_milli:
            names = ", ".join(sorted(pod.pod_level_milli))[:80]
            yield f"spec.resources: found {names} for the whole Pod; expected resources of each container only"
    if wishes.gpu_hca is not None and not (gpus and hcas):
        yield (
            f"annotation {keys.GPU_HCA}: found a condition while the Pod asks {gpus} {settings.gpu_resource} and "
            f"{hcas} {settings.hca_resource}; expected both"
        )
    if wishes.memory is MemoryMode.BIND and not planned:
        yield (
            f"annotation {keys.MEMORY}: found bind on a Pod without a placement; expected a policy, exclusive CPUs or "
            f"{settings.gpu_resource} beside it"
        )


def _excluding_faults(pod: Pod, settings: Settings) -> Iterator[str]:
    """Keys of other features that would place the same CPUs or cards."""
    if _CPU_POLICY in pod.annotations:
        yield f"annotation {_CPU_POLICY}: found beside numaplace's placement; expected only one of the two features"
    for label in _EXCLUDING_LABELS:
        if label in pod.rules.labels:
            yield f"label {label}: found beside numaplace's placement; expected only one of the two features"
    domain = settings.gpu_resource.partition("/")[0]
    for resource in (f"{domain}/{name}" for name in _EXCLUDING_RESOURCES):
        if any(one.request_milli(resource) for one in pod.containers):
            yield f"resource {resource}: found a share of a card; expected whole cards as {settings.gpu_resource}"


def _devices(pod: Pod, settings: Settings) -> tuple[int, int]:
    """The Pod's GPUs and HCAs."""
    return (
        units(effective_milli(pod, settings.gpu_resource)),
        units(effective_milli(pod, settings.hca_resource)),
    )


def _request(pod: Pod, wishes: Wishes, settings: Settings) -> PodRequest:
    gpus, hcas = _devices(pod, settings)
    containers = tuple(_container(one, wishes, settings) for one in pod.containers)
    return PodRequest(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        containers=containers,
        policy=wishes.policy,
        exclusivity=wishes.exclusivity,
        cpu_mode=_cpu_mode(wishes),
        cpu_rule=wishes.cpu_rule or CpuRule.FULL_CORES,
        memory_mode=wishes.memory,
        gpu_hca=wishes.gpu_hca,
        hcas_exclusive=settings.hcas_exclusive,
        cpus=sum(one.cpus for one in containers),
        shared_cpu_milli=_shared_cpu_milli(pod, wishes, settings),
        gpus=gpus,
        foreign_gpus=sum(units(effective_milli(pod, name)) for name in settings.foreign_gpu_resources),
        hcas=hcas,
        memory_bytes=units(effective_milli(pod, MEMORY)),
        hugepages=_hugepages(pod),
        priority=pod.priority,
        created_s=pod.created_s,
        rules=replace(pod.rules, amounts=node_amounts(pod)),
        bound_to=pod.node_name,
    )


def _cpu_mode(wishes: Wishes) -> CpuMode:
    if wishes.exclusive_cpus:
        return CpuMode.EXCLUSIVE
    return CpuMode.FLOATING if wishes.policy is Policy.NONE else CpuMode.CONFINED


def _container(one: Container, wishes: Wishes, settings: Settings) -> ContainerRequest:
    owns = wishes.exclusive_cpus and resources.owns_cpus(one, settings)
    return ContainerRequest(
        name=one.name,
        kind=one.kind,
        cpus=one.request_milli(CPU) // 1000 if owns else 0,
        gpus=one.request_milli(settings.gpu_resource) // 1000,
        hcas=one.request_milli(settings.hca_resource) // 1000,
    )


def _shared_cpu_milli(pod: Pod, wishes: Wishes, settings: Settings) -> int:
    """The CPU time that comes from shared CPUs; of an exclusive Pod, what its sharing containers ask.

    Plain init containers of an exclusive Pod run on its own CPUs and ask nothing more.
    """
    if not wishes.exclusive_cpus:
        return effective_milli(pod, CPU)

    def shared(container: Container) -> int:
        owns = container.kind is ContainerKind.INIT or resources.owns_cpus(container, settings)
        return 0 if owns else container.request_milli(CPU)

    return effective(pod, shared) + pod.overhead_milli.get(CPU, 0)


def _hugepages(pod: Pod) -> tuple[Hugepages, ...]:
    names = {name for one in pod.containers for name in one.limits_milli if name.startswith(HUGEPAGES)}
    sized = sorted((resources.page_bytes_of(name) or 0, name) for name in names)
    amounts = ((page_bytes, units(effective_milli(pod, name))) for page_bytes, name in sized if page_bytes)
    return tuple(Hugepages(page_bytes, amount // page_bytes) for page_bytes, amount in amounts if amount)

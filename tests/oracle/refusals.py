"""Which code a node that refuses has to give: the first of section 8 that applies, each tried by brute force."""

from dataclasses import replace

from numaplace.model.refusal import Code
from numaplace.model.request import CpuRule, MemoryMode, PodRequest
from tests.oracle.search import best, memory_in, pages_in, pool_holds
from tests.oracle.world import World, name_of


def code_of(world: World, request: PodRequest) -> Code:
    """The code for a request that `best` finds no place for.

    Devices are short at first only if faulty ones would not help; a device is blamed where that one rule stands
    in the way; what is short in the end is short.
    """
    short = _short_in_the_whole_node(with_unhealthy_devices(world), world, request)
    return short or _blamed(world, request) or _short_in_the_whole_node(world, world, request) or Code.NOT_ALIGNABLE


def _blamed(world: World, request: PodRequest) -> Code | None:
    """The one rule without which the request would fit."""
    if request.cpu_rule is CpuRule.FULL_CORES_ONLY and _fits(world, replace(request, cpu_rule=CpuRule.FULL_CORES)):
        return Code.SMT_PARTIAL
    if _fits(replace(world, unknown_is_anywhere=True), request):
        return Code.DEVICE_NUMA_UNKNOWN
    if _fits(with_unhealthy_devices(world), request):
        return Code.DEVICE_UNHEALTHY
    return Code.NUMA_EXCLUSIVE if best(world, request, marks_bar=False) is not None else None


def _short_in_the_whole_node(devices: World, world: World, request: PodRequest) -> Code | None:
    hcas = devices.hcas if request.hcas_exclusive else devices.near_hcas
    wanted_hcas = request.hcas if request.hcas_exclusive else min(request.hcas, 1)
    strict = request.memory_mode is MemoryMode.BIND
    if len(devices.gpus) < request.gpus:
        return Code.GPUS_SHORT
    if len(hcas) < wanted_hcas:
        return Code.HCAS_SHORT
    if sum(map(world.can_give, world.numas)) < request.cpus or not pool_holds(world, request):
        return Code.CPUS_SHORT
    if any(pages_in(world, world.numas, amount.page_bytes) < amount.pages for amount in request.hugepages):
        return Code.HUGEPAGES_SHORT
    if strict and memory_in(world, world.numas) < request.memory_bytes:
        return Code.MEMORY_SHORT
    return None


def _fits(world: World, request: PodRequest) -> bool:
    return best(world, request) is not None


def with_unhealthy_devices(world: World) -> World:
    """The world in which every faulty device that nobody holds could be had."""
    gpus = [gpu for gpu in world.topology.gpus if gpu.fault and not gpu.mig and gpu.pci not in world.held]
    hcas = [hca for hca in world.topology.hcas if hca.fault and hca.name not in world.held]
    return replace(
        world,
        gpus=tuple(sorted((*world.gpus, *gpus), key=name_of)),
        hcas=tuple(sorted((*world.hcas, *hcas), key=name_of)),
        near_hcas=tuple(sorted((*world.near_hcas, *hcas), key=name_of)),
    )

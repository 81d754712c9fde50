"""Requests, holders and nodes in few words, for tests of the oracle and of the placer."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from numaplace.model.allocation import Allocation, ContainerShare, GpuRef, HcaRef, NumaCharge
from numaplace.model.cluster import Holder, NodeState, Phase, node_state
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import ContainerName, HcaName, NodeName, NumaId, PciAddress, PodUid
from numaplace.model.keys import ALIGN_LEVEL
from numaplace.model.request import ContainerKind, ContainerRequest, CpuMode, Hugepages, PodRequest, Policy
from numaplace.model.rules import Amounts, NodeRules
from numaplace.model.settings import Settings
from tests.oracle.described import GIB, PAGE, Shape, topology_of

NODE = NodeName("node-a")
MAIN = ContainerName("main")


def node_of(
    shape: Shape,
    holders: Iterable[Holder] = (),
    *,
    reserved: str = "",
    by_package: bool = False,
    allocatable_milli: int | None = None,
    name: NodeName = NODE,
    enabled: bool = True,
) -> NodeState:
    """A described machine with its book; `enabled`: the label that lets Pods with a policy in."""
    labels = {ALIGN_LEVEL: "package"} if by_package else {}
    rules = NodeRules(
        name=name,
        labels={**labels, Settings().enable_label: Settings().enable_value} if enabled else labels,
        allocatable=None if allocatable_milli is None else Amounts(cpu_milli=allocatable_milli),
    )
    node = node_state(name, rules, topology_of(shape), CpuSet.parse(reserved))
    for holder in holders:
        node = node.holding(holder)
    return node


def ask(
    policy: Policy = Policy.SINGLE_NUMA_NODE,
    *,
    cpus: int = 0,
    gpus: int = 0,
    hcas: int = 0,
    milli: int = 0,
    memory_gib: int = 0,
    pages: int = 0,
    uid: str = "new",
    **more: object,
) -> PodRequest:
    """A Pod of one container; exclusive CPUs if it asks some, else confined (or floating without a policy)."""
    shared = CpuMode.FLOATING if policy is Policy.NONE else CpuMode.CONFINED
    request = PodRequest(
        PodUid(uid),
        "team",
        uid,
        (ContainerRequest(MAIN, ContainerKind.APP, cpus, gpus, hcas),),
        policy=policy,
        cpu_mode=CpuMode.EXCLUSIVE if cpus else shared,
        cpus=cpus,
        gpus=gpus,
        hcas=hcas,
        shared_cpu_milli=milli,
        memory_bytes=memory_gib * GIB,
        hugepages=(Hugepages(PAGE, pages),) if pages else (),
    )
    return replace(request, **more)  # type: ignore[arg-type] # the names are those of PodRequest


def holder(
    uid: str,
    numas: Iterable[int],
    *,
    cpus: str = "",
    gpus: Iterable[str] = (),
    hcas: Iterable[str] = (),
    policy: Policy = Policy.SINGLE_NUMA_NODE,
    milli: Mapping[int, int] | None = None,
    memory_gib: Mapping[int, int] | None = None,
    pages: Mapping[int, int] | None = None,
    phase: Phase = Phase.GRANTED,
    hcas_exclusive: bool = True,
) -> Holder:
    """A Pod that has these CPUs and devices; `milli`, `memory_gib` and `pages` by numa."""
    milli, memory_gib, pages = milli or {}, memory_gib or {}, pages or {}
    own, gpu_refs = CpuSet.parse(cpus), tuple(GpuRef(PciAddress(gpu)) for gpu in gpus)
    hca_refs = tuple(HcaRef(HcaName(hca)) for hca in hcas)
    request = ask(
        policy,
        uid=uid,
        cpus=len(own),
        gpus=len(gpu_refs),
        hcas=len(hca_refs),
        milli=sum(milli.values()),
        memory_gib=sum(memory_gib.values()),
        pages=sum(pages.values()),
        hcas_exclusive=hcas_exclusive,
    )
    ids = tuple(NumaId(numa) for numa in sorted(set(numas)))
    charges = tuple(
        NumaCharge(
            numa,
            milli.get(numa, 0),
            memory_gib.get(numa, 0) * GIB,
            (Hugepages(PAGE, pages[numa]),) if pages.get(numa) else (),
        )
        for numa in ids
        if numa in milli or numa in memory_gib or numa in pages
    )
    share = ContainerShare(own, gpu_refs, hca_refs)
    return Holder(request, Allocation(NODE, ids, policy, len(ids), {MAIN: share}, charges), phase)


def floating(uid: str, *, milli: int = 0, gpus: int = 0) -> Holder:
    """A Pod that runs without an allocation."""
    return Holder(ask(Policy.NONE, uid=uid, milli=milli, gpus=gpus))

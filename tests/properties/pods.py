"""Hypothesis strategies for requests: every policy, CPU mode and rule, one to three containers."""

from dataclasses import replace

from hypothesis import strategies as st

from numaplace.model.ids import ContainerName, PodUid
from numaplace.model.proximity import Level
from numaplace.model.request import (
    ContainerKind,
    ContainerRequest,
    CpuMode,
    CpuRule,
    Exclusivity,
    Hugepages,
    MemoryMode,
    PodRequest,
    Policy,
)
from tests.oracle.described import GIB, PAGE
from tests.properties.books import Scene, scenes

CPUS = st.sampled_from([1, 2, 2, 3, 4, 4, 5, 6, 8, 9, 12])
GPUS = st.sampled_from([0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 8, 16])
HCAS = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 4])
SMALL = st.sampled_from([0, 0, 0, 1, 2])


@st.composite
def container_requests(draw: st.DrawFn, cpu_mode: CpuMode, *, most_gpus: int, most_hcas: int) -> list[ContainerRequest]:
    """One main container, now and then with a sidecar, a second one and an init container that borrows."""
    exclusive = cpu_mode is CpuMode.EXCLUSIVE
    main = ContainerRequest(
        ContainerName("main"),
        ContainerKind.APP,
        draw(CPUS) if exclusive else 0,
        min(most_gpus, draw(GPUS)),
        min(most_hcas, draw(HCAS)),
    )
    company = draw(st.sampled_from(["none", "none", "second", "sidecar", "init", "all"]))
    cpus = draw(st.integers(0, 3)) if exclusive else 0
    gpus, hcas = min(most_gpus, draw(SMALL)), min(most_hcas, draw(SMALL))
    second = ContainerRequest(ContainerName("second"), ContainerKind.APP, cpus, gpus, hcas)
    sidecar = ContainerRequest(ContainerName("side"), ContainerKind.SIDECAR, cpus, gpus, hcas)
    init = ContainerRequest(ContainerName("init"), ContainerKind.INIT, 0, gpus, hcas)
    return {
        "none": [main],
        "second": [main, second],
        "sidecar": [sidecar, main],
        "init": [init, main],
        "all": [sidecar, init, main, second],
    }[company]


@st.composite
def pod_requests(
    draw: st.DrawFn, uid: str = "new", *, most_gpus: int = 8, most_hcas: int = 4, hcas_exclusive: bool | None = None
) -> PodRequest:
    """A Pod that numaplace plans."""
    policy = draw(st.sampled_from(list(Policy)))
    modes = [CpuMode.EXCLUSIVE, CpuMode.FLOATING if policy is Policy.NONE else CpuMode.CONFINED]
    cpu_mode = draw(st.sampled_from(modes))
    alone = draw(st.booleans()) if hcas_exclusive is None else hcas_exclusive
    containers = draw(container_requests(cpu_mode, most_gpus=most_gpus, most_hcas=most_hcas))
    gpus, hcas = (_effective(containers, device) for device in ("gpus", "hcas"))
    if cpu_mode is CpuMode.FLOATING and not gpus and not (hcas and alone):
        containers, cpu_mode = [ContainerRequest(ContainerName("main"), ContainerKind.APP, 1)], CpuMode.EXCLUSIVE
        gpus = hcas = 0
    levels = [None, None, Level.PIX, Level.PXB, Level.PHB, Level.NODE]
    pages = draw(st.sampled_from([0, 0, 0, 0, 0, 1, 2, 5]))
    memory = draw(st.sampled_from([0, 1, 3, 5, 7, 20]))
    return PodRequest(
        PodUid(uid),
        "team",
        uid,
        tuple(containers),
        policy=policy,
        exclusivity=draw(st.sampled_from(list(Exclusivity))),
        cpu_mode=cpu_mode,
        cpu_rule=draw(st.sampled_from(list(CpuRule))),
        memory_mode=draw(st.sampled_from([MemoryMode.PREFER, MemoryMode.PREFER, MemoryMode.BIND, MemoryMode.OFF])),
        gpu_hca=draw(st.sampled_from(levels)) if gpus and hcas else None,
        hcas_exclusive=alone,
        cpus=sum(container.cpus for container in containers),
        shared_cpu_milli=0 if cpu_mode is CpuMode.EXCLUSIVE else draw(st.sampled_from([0, 100, 1000, 3001, 7500])),
        gpus=gpus,
        hcas=hcas,
        memory_bytes=memory * GIB + (memory > 0) * draw(st.sampled_from([0, 1])),
        hugepages=(Hugepages(PAGE, pages),) if pages else (),
    )


def asked_of(scene: Scene) -> st.SearchStrategy[PodRequest]:
    """A Pod for this node: hardly more devices than it has, so that refusals have reasons of every kind."""
    gpus, hcas = len(scene.shape.gpus), len(scene.shape.hcas)
    return pod_requests(most_gpus=min(8, gpus + gpus // 4), most_hcas=min(4, hcas + hcas // 4))


@st.composite
def occasions(draw: st.DrawFn) -> tuple[Scene, PodRequest]:
    """A node and a Pod that may well fit there."""
    scene = draw(scenes())
    return scene, draw(asked_of(scene))


def renamed(request: PodRequest, uid: str) -> PodRequest:
    """The same wishes of another Pod."""
    return replace(request, uid=PodUid(uid), name=uid)


def _effective(containers: list[ContainerRequest], resource: str) -> int:
    """The Kubernetes formula: what stays, or an init container and the sidecars before it, if that is more."""
    most = sidecars = staying = 0
    for container in containers:
        amount: int = getattr(container, resource)
        if container.kind is ContainerKind.INIT:
            most = max(most, sidecars + amount)
        else:
            staying += amount
            sidecars += amount if container.kind is ContainerKind.SIDECAR else 0
    return max(most, staying)

"""Pods for the benches: mixed shapes, seeded, as `decide/admit` would hand them over."""

from random import Random

from numaplace.model.ids import ContainerName, PodUid
from numaplace.model.request import ContainerKind, ContainerRequest, CpuMode, Exclusivity, PodRequest, Policy
from numaplace.model.rules import Amounts, PodRules

POLICIES = [Policy.SINGLE_NUMA_NODE] * 5 + [Policy.RESTRICTED] * 2 + [Policy.BEST_EFFORT] * 2 + [Policy.NONE]
GPUS = (0, 1, 1, 1, 2, 2, 4, 4, 8)
CPUS_A_GPU = (4, 8, 12)


def pod(number: int, gpus: int, cpus: int, policy: Policy, **more: object) -> PodRequest:
    """One Pod of one container with exclusive CPUs; `more` are fields of PodRequest."""
    hcas = int(str(more.pop("hcas", 0)))
    exclusivity = Exclusivity.REQUIRED if more.pop("required", False) else Exclusivity.PREFERRED
    name = f"pod-{number:06d}"
    return PodRequest(
        uid=PodUid(name),
        namespace="bench",
        name=name,
        containers=(ContainerRequest(ContainerName("main"), ContainerKind.APP, cpus, gpus, hcas),),
        policy=policy,
        exclusivity=exclusivity,
        cpu_mode=CpuMode.EXCLUSIVE,
        cpus=cpus,
        gpus=gpus,
        hcas=hcas,
        hcas_exclusive=bool(more.pop("hcas_exclusive", False)),
        memory_bytes=cpus * 4 << 30,
        created_s=float(number),
        rules=PodRules(amounts=Amounts(1000 * cpus, cpus * 4 << 30)),
    )


def mixed(number: int, random: Random) -> PodRequest:
    """A Pod of a mixed cluster: all policies, 0 to 8 GPUs, some with RDMA, some demanding exclusivity."""
    gpus = random.choice(GPUS)
    cpus = random.choice(CPUS_A_GPU) * max(1, gpus)
    policy = random.choice(POLICIES)
    if gpus == 8 and policy is Policy.SINGLE_NUMA_NODE:
        policy = Policy.RESTRICTED  # no numa of these machines has eight
    wants_hca = gpus > 0 and random.random() < 0.3
    return pod(number, gpus, cpus, policy, hcas=int(wants_hca), required=random.random() < 0.5)

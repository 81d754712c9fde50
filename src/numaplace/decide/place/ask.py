"""Ask: the part of a PodRequest that decides where it fits, without names.

Pods of one Deployment ask alike, so answers are remembered per Ask.
"""

from dataclasses import dataclass
from functools import lru_cache

from numaplace.model.proximity import Level
from numaplace.model.request import CpuMode, CpuRule, Exclusivity, Hugepages, MemoryMode, PodRequest, Policy


@dataclass(frozen=True, slots=True)
class Ask:
    """One joint request; equal asks have equal answers on equal nodes."""

    policy: Policy
    exclusive: bool  # marks forbid (Required, and a policy that can be refused for alignment)
    counts_marks: bool  # marks rank: a policy is named
    cpus: int  # exclusive CPUs
    cpu_counts: tuple[int, ...]  # of each container that owns CPUs
    cpu_rule: CpuRule
    confined_milli: int
    floating_milli: int
    gpus: int
    hcas: int  # exclusive HCAs to choose; 0 in shared mode
    shared_hcas: bool  # shared mode: the near HCAs come along
    limit: Level  # farthest level allowed from a GPU to its nearest HCA; SYS allows all
    memory_bytes: int  # 0 where memory does not count
    binds_memory: bool
    hugepages: tuple[Hugepages, ...]

    @property
    def aligns(self) -> bool:
        """Whether the policy may refuse for alignment."""
        return self.policy.aligns


def ask_of(request: PodRequest) -> Ask:
    """What `request` asks, reduced to what decides."""
    mode = request.memory_mode
    confined = request.cpu_mode is CpuMode.CONFINED
    exclusive_cpus = request.cpu_mode is CpuMode.EXCLUSIVE
    return _one(
        policy=request.policy,
        exclusive=request.policy.aligns and request.exclusivity is Exclusivity.REQUIRED,
        counts_marks=request.policy is not Policy.NONE,
        cpus=request.cpus if exclusive_cpus else 0,
        cpu_counts=tuple(c.cpus for c in request.containers if c.cpus) if exclusive_cpus else (),
        cpu_rule=request.cpu_rule if exclusive_cpus else CpuRule.FULL_CORES,
        confined_milli=request.shared_cpu_milli if confined else 0,
        floating_milli=0 if confined else request.shared_cpu_milli,
        gpus=request.gpus,
        hcas=request.hcas if request.hcas_exclusive else 0,
        shared_hcas=request.hcas > 0 and not request.hcas_exclusive,
        limit=Level.SYS if request.gpu_hca is None else request.gpu_hca,
        memory_bytes=0 if mode is MemoryMode.OFF else request.memory_bytes,
        binds_memory=mode is MemoryMode.BIND,
        hugepages=request.hugepages,
    )


_one = lru_cache(maxsize=4096)(Ask)

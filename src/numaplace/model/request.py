"""PodRequest: what one Pod asks, checked and summed up.

`decide/admit` builds it from a Pod; the placer, the ledger and the simulator read
it. Everything that depends on annotations or on the Kubernetes resource formula is
settled here, so no later step looks at a manifest again.
"""

from dataclasses import dataclass
from enum import StrEnum

from numaplace.model.ids import ContainerName, NodeName, PodUid
from numaplace.model.proximity import Level
from numaplace.model.rules import PodRules


class Policy(StrEnum):
    """How close together the parts of a Pod must lie."""

    SINGLE_NUMA_NODE = "SingleNUMANode"
    RESTRICTED = "Restricted"
    BEST_EFFORT = "BestEffort"
    NONE = "None"  # no policy named

    @property
    def aligns(self) -> bool:
        """Whether a Pod may be refused because its parts cannot lie close enough."""
        return self in (Policy.SINGLE_NUMA_NODE, Policy.RESTRICTED)


class Exclusivity(StrEnum):
    """Whether single-numa and multi-numa Pods may meet in one numa (singleNUMANodeExclusive)."""

    REQUIRED = "Required"
    PREFERRED = "Preferred"


class CpuRule(StrEnum):
    """Which CPUs of a numa make up an exclusive set."""

    FULL_CORES = "full-cores"  # whole cores first, a half core only for the odd rest
    FULL_CORES_ONLY = "full-cores-only"
    SPREAD = "spread"  # one thread of each core first


class MemoryMode(StrEnum):
    """What the placement does about memory."""

    PREFER = "prefer"  # ranks candidates
    BIND = "bind"  # must fit, and cpuset.mems is set
    OFF = "off"


class CpuMode(StrEnum):
    """How the Pod's CPUs are to be had."""

    EXCLUSIVE = "exclusive"  # CPUs of its own
    CONFINED = "confined"  # shared, but only those of its numas
    FLOATING = "floating"  # shared, anywhere on the node


class ContainerKind(StrEnum):
    """When a container runs."""

    INIT = "init"  # one after the other, before the app containers
    SIDECAR = "sidecar"  # a restartable init container: starts in order, stays
    APP = "app"


@dataclass(frozen=True, slots=True)
class ContainerRequest:
    """What one container asks; `cpus` counts exclusive CPUs, 0 where it shares."""

    name: ContainerName
    kind: ContainerKind
    cpus: int = 0
    gpus: int = 0
    hcas: int = 0


@dataclass(frozen=True, slots=True)
class Hugepages:
    """An amount of hugepages of one size, in pages."""

    page_bytes: int
    pages: int


@dataclass(frozen=True, slots=True)
class PodRequest:
    """One Pod's wishes; the amounts are those of the whole Pod by the Kubernetes formula."""

    uid: PodUid
    namespace: str
    name: str
    containers: tuple[ContainerRequest, ...]  # in order: init and sidecars as listed, then app
    policy: Policy = Policy.NONE
    exclusivity: Exclusivity = Exclusivity.PREFERRED
    cpu_mode: CpuMode = CpuMode.FLOATING
    cpu_rule: CpuRule = CpuRule.FULL_CORES
    memory_mode: MemoryMode = MemoryMode.PREFER
    gpu_hca: Level | None = None  # the farthest level allowed between each GPU and its nearest HCA
    hcas_exclusive: bool = False  # one Pod an HCA; else HCAs are shared and never short
    cpus: int = 0  # exclusive CPUs, of app containers and sidecars
    shared_cpu_milli: int = 0  # what CONFINED charges to its numas and FLOATING to the node
    gpus: int = 0
    foreign_gpus: int = 0  # cards asked of another device plugin, which never says here which it gave
    hcas: int = 0
    memory_bytes: int = 0
    hugepages: tuple[Hugepages, ...] = ()  # by rising size, no zero amounts
    priority: int = 0
    created_s: float = 0.0  # seconds; only its order counts
    rules: PodRules = PodRules()
    bound_to: NodeName | None = None  # spec.nodeName

    @property
    def full_name(self) -> str:
        """namespace/name, as kubectl prints it."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_planned(self) -> bool:
        """Whether numaplace chooses something for this Pod; the others only fill up their node."""
        return self.cpu_mode is not CpuMode.FLOATING or self.asks_cards

    @property
    def asks_cards(self) -> bool:
        """Whether something of it is counted by a device plugin: what schedulers ask an extender about."""
        return self.gpus > 0 or (self.hcas > 0 and self.hcas_exclusive)

    @property
    def order(self) -> tuple[int, float, str, str]:
        """The planning order: highest priority, then oldest, then namespace and name."""
        return (-self.priority, self.created_s, self.namespace, self.name)

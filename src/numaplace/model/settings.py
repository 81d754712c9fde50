"""Settings: what an operator may change about decisions, with the defaults in one place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part of a node's score counts (docs/reference/ranking.md); any positive scale."""

    distance: float = 2.0
    gpu_hca: float = 3.0
    wishes: float = 2.0
    fragmentation: float = 4.0
    packing: float = 1.0
    memory: float = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """One cluster's choices; frozen for the life of a planner or a simulation."""

    enable_label: str = "ack.node.gpu.schedule"
    enable_value: str = "topology"
    gpu_resource: str = "aliyun.com/gpu"
    foreign_gpu_resources: tuple[str, ...] = ("nvidia.com/gpu",)  # whole cards that another plugin owns
    hca_resource: str = "rdma/hca"
    hcas_exclusive: bool = False  # the RDMA plugin's mode: exclusive or shared
    pod_ip_rdma: bool = False  # nonHostNetwork: rdma/hca also without hostNetwork
    sharing_containers: tuple[str, ...] = ()  # injected sidecars that share CPUs instead of owning them
    spread_nodes: bool = False  # emptier nodes first instead of fuller ones
    holds_node_back: bool = False  # one node is kept for the oldest Pod that waits; else smaller ones go ahead
    release_grace_s: float = 60.0  # how long an ended Pod's devices stay taken without word from the agent
    extender_for: tuple[str, ...] = ()  # schedulers that ask the planner about Pods with cards before they bind them
    extender_pins: bool = False  # their Pods, too, leave the gate with a pin; else a hint tells the scheduler the node
    weights: Weights = Weights()

    def __post_init__(self) -> None:
        """Of what another plugin owns, each name counts once, and never our own: its cards would be counted twice."""
        foreign = dict.fromkeys(name for name in self.foreign_gpu_resources if name != self.gpu_resource)
        object.__setattr__(self, "foreign_gpu_resources", tuple(foreign))

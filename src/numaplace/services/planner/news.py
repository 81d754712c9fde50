"""What the keeper tells the planner after it has booked a change: the only way from one to the other."""

from dataclasses import dataclass

from numaplace.model.allocation import Allocation
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod, Stage
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest


@dataclass(frozen=True, slots=True)
class Waits:
    """The Pod's last gate is ours and nothing is promised to it: it needs a plan."""

    pod: LivePod


@dataclass(frozen=True, slots=True)
class Resumes:
    """A promise was read back from a gated Pod and is good: it only has to be carried out."""

    pod: LivePod
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Broken:
    """The Pod cannot leave its node any more, and what it was promised there is not to be had."""

    pod: LivePod
    why: Refusal


@dataclass(frozen=True, slots=True)
class Strayed:
    """The Pod was bound just now to another node than the planned one, and floats there."""

    pod: LivePod


@dataclass(frozen=True, slots=True)
class Altered:
    """The annotation of a Pod past its gate was changed into something that cannot be, or taken away."""

    pod: LivePod
    allocation: Allocation  # what the Pod has


@dataclass(frozen=True, slots=True)
class Arrived:
    """The Pod is bound: just now, or it still says that it waits."""

    pod: LivePod


@dataclass(frozen=True, slots=True)
class Stuck:
    """The scheduler refuses the planned node, at once or for too long."""

    pod: LivePod
    node: NodeName


@dataclass(frozen=True, slots=True)
class Unhinted:
    """The scheduler found no node for a Pod without a pin, and was not told of the planned one."""

    pod: LivePod
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Left:
    """The Pod waits no more: it has reached another stage."""

    uid: PodUid
    stage: Stage


@dataclass(frozen=True, slots=True)
class Freed:
    """Something was given back on these nodes, or they changed themselves."""

    nodes: frozenset[NodeName]
    left: tuple[PodRequest, ...]  # the Pods that the rules of others see there no more, or not as they were
    changed: bool  # whether nodes came, went or changed themselves


@dataclass(frozen=True, slots=True)
class Renamed:
    """A namespace has other labels, and rules that go by them mean other Pods."""

    namespace: str


@dataclass(frozen=True, slots=True)
class Joined:
    """These Pods came to a node, by promise or bound, or show other labels there."""

    requests: tuple[PodRequest, ...]


News = Waits | Resumes | Broken | Altered | Strayed | Arrived | Stuck | Unhinted | Left | Freed | Renamed | Joined

"""One node is kept for the oldest Pod that waits, if the operator wants that."""

from dataclasses import replace

from numaplace.decide.place import HoldBack, NodeIndex, Placement, plan_with
from numaplace.model.cluster import ClusterState, node_state
from numaplace.model.ids import ContainerName, NodeName, PodUid
from numaplace.model.refusal import Code
from numaplace.model.request import ContainerKind, ContainerRequest, CpuMode, PodRequest, Policy
from numaplace.model.rules import NodeRules
from numaplace.model.settings import Settings
from numaplace.wire.machine import machine

HOLDING = Settings(holds_node_back=True)


def pod(number: int, gpus: int) -> PodRequest:
    """Pods in the order of their numbers; those of more than four GPUs need both NUMA nodes of the machine."""
    return PodRequest(
        uid=PodUid(f"uid-{number}"),
        namespace="default",
        name=f"pod-{number}",
        containers=(ContainerRequest(ContainerName("main"), ContainerKind.APP, 4 * gpus, gpus),),
        policy=Policy.RESTRICTED,
        cpu_mode=CpuMode.EXCLUSIVE,
        cpus=4 * gpus,
        gpus=gpus,
        created_s=float(number),
    )


def index(*names: str, settings: Settings = HOLDING) -> NodeIndex:
    rules = [NodeRules(NodeName(name), {"ack.node.gpu.schedule": "topology"}) for name in names]
    return NodeIndex(ClusterState({one.name: node_state(one.name, one, machine("lingjun")) for one in rules}), settings)


def answers(of: NodeIndex, *pods: PodRequest) -> list[str]:
    """The node of each Pod, or the code of its refusal."""
    decided = [decision.answer for decision in plan_with(of, pods)]
    return [one.allocation.node if isinstance(one, Placement) else one.code for one in decided]


def test_smaller_pods_go_ahead_by_default() -> None:
    assert answers(index("a", settings=Settings()), pod(1, 1), pod(2, 8), pod(3, 1)) == ["a", Code.GPUS_SHORT, "a"]


def test_pods_behind_the_waiting_one_leave_its_node_alone() -> None:
    assert answers(index("a"), pod(1, 1), pod(2, 8), pod(3, 1)) == ["a", Code.GPUS_SHORT, Code.HELD_BACK]


def test_the_node_with_the_most_free_gpus_is_kept() -> None:
    nodes = index("a", "b")
    assert answers(nodes, pod(1, 4), pod(2, 4)) == ["a", "a"]
    assert answers(nodes, pod(3, 1), pod(4, 8), pod(5, 1)) == ["b", Code.GPUS_SHORT, Code.HELD_BACK]


def test_a_pod_before_the_waiting_one_may_use_its_node() -> None:
    keeper = HoldBack(index("a"))
    keeper.refused(pod(2, 8))
    assert keeper.closed_to(pod(3, 1)) == ("a",)
    assert keeper.closed_to(replace(pod(3, 1), priority=10)) == ()
    assert keeper.closed_to(pod(2, 8)) == ()


def test_a_pod_that_no_node_could_ever_take_keeps_none() -> None:
    assert answers(index("a"), pod(1, 1), pod(2, 9), pod(3, 1)) == ["a", Code.GPUS_SHORT, "a"]


def test_the_node_is_open_again_when_its_pod_waits_no_more() -> None:
    keeper = HoldBack(index("a"))
    keeper.refused(pod(2, 8))
    assert keeper.waits_no_more(pod(3, 1).uid) is None
    assert keeper.closed_to(pod(4, 1)) == ("a",)
    assert keeper.waits_no_more(pod(2, 8).uid) == "a"
    assert keeper.closed_to(pod(4, 1)) == ()


def test_a_pod_before_the_waiting_one_takes_over_and_the_other_node_is_open_again() -> None:
    nodes = index("a", "b")
    keeper = HoldBack(nodes)
    assert keeper.refused(pod(2, 8)) is None
    (placed,) = plan_with(nodes, [pod(1, 1)])
    assert isinstance(placed.answer, Placement)  # "b" has more left now
    assert keeper.refused(replace(pod(3, 8), priority=10)) == "a"
    assert keeper.closed_to(pod(4, 1)) == ("b",)

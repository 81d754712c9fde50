"""What one freed GPU costs a planner with which thousands of Pods wait, no two of which ask alike."""

from dataclasses import replace
from itertools import islice
from time import process_time

from bench.machine import figures
from bench.placing import LABELS
from bench.workload import pod
from numaplace.decide.place import NodeIndex, Placement, place_on
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase, node_state
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest, Policy
from numaplace.model.rules import NodeRules
from numaplace.services.planner.planner import LOOKS
from numaplace.services.planner.waiting import Waiting
from numaplace.wire.machine import machine

REFUSED = Refusal(Code.GPUS_SHORT, "all GPUs are taken")
SELECTOR = {"pool": "other"}


def study(nodes: int = 5_000, pods: int = 5_000, *, rounds: int = 20) -> None:
    """Free a GPU of full nodes, again and again; who waits asks what is there, or more, or another kind of node."""
    state = _full(nodes)
    print(
        f"  {pods:,} Pods, no two alike, wait on {nodes:,} nodes without a free GPU; one GPU comes free, {rounds} times"
    )
    for what, gpus, selector in (
        ("the first takes it", 1, {}),
        ("all ask more", 2, {}),
        ("the node is for others", 1, SELECTOR),
    ):
        index, waiting = NodeIndex(state), _waiting(pods, gpus, selector)
        heard, steps, whole = [], [], []
        for name in islice(state.nodes, rounds):
            node = index.node(name)
            index.update(node.without(min(node.holders)))
            start = process_time()
            waiting.wake(frozenset((name,)))
            heard.append(process_time() - start)
            steps += (looks := _looks(index, waiting))
            whole.append(heard[-1] + sum(looks))
        print(f"  {what}:")
        for part, seconds in (("hear of it", heard), (f"{LOOKS} looks", steps), ("together", whole)):
            print(f"    {part:12} {figures(seconds)}")


def _looks(index: NodeIndex, waiting: Waiting) -> list[float]:
    """Look at everyone who hopes, as many in one step as the planner does; the first that can has the place."""
    steps, start, looks = [], process_time(), 0
    while (request := waiting.next()) is not None:
        if index.takes(request, waiting.hopes(request.uid) or ()):
            _place(index, waiting, request)
        else:
            waiting.spare(request)
        looks += 1
        if looks % LOOKS == 0:
            steps.append(process_time() - start)
            start = process_time()
    return steps


def _place(index: NodeIndex, waiting: Waiting, request: PodRequest) -> None:
    placement = index.best(request)
    if placement is not None:
        node = index.node(placement.allocation.node)
        index.update(node.holding(Holder(request, placement.allocation, Phase.HELD)))
        waiting.remove(request.uid)


def _waiting(pods: int, gpus: int, selector: dict[str, str]) -> Waiting:
    """Everyone was refused once."""
    waiting = Waiting()
    for number in range(pods):
        request = pod(number, gpus, 4 + number % 8, Policy.RESTRICTED)
        rules = replace(request.rules, node_selector=selector)
        waiting.add(replace(request, namespace=f"team-{number}", rules=rules))
    while (head := waiting.next()) is not None:
        waiting.refused(head, REFUSED)
    return waiting


def _full(count: int) -> ClusterState:
    """Nodes of one machine, each with as many Pods of one GPU as it takes."""
    node = node_state(NodeName("node"), NodeRules(labels=LABELS), machine("lingjun"))
    number = 0
    while isinstance(answer := place_on(node, pod(number, 1, 12, Policy.SINGLE_NUMA_NODE)), Placement):
        node = node.holding(Holder(pod(number, 1, 12, Policy.SINGLE_NUMA_NODE), answer.allocation))
        number += 1
    return ClusterState({name: _named(node, name) for name in (NodeName(f"node-{i:06d}") for i in range(count))})


def _named(node: NodeState, name: NodeName) -> NodeState:
    return replace(node, name=name, rules=replace(node.rules, name=name))

"""What the order of arrival costs: aligned Pods that fit one after the other, against the optimum.

Small machines, so that the optimum can be found by trying every assignment of Pods to
numas. Only Pods that must lie in one numa are asked, so a fit is an aligned fit.
"""

from random import Random

from bench.workload import pod
from numaplace.decide.place import NodeIndex, Placement, plan_with
from numaplace.model.cluster import ClusterState, node_state
from numaplace.model.cpuset import union
from numaplace.model.ids import NodeName
from numaplace.model.request import PodRequest, Policy
from numaplace.model.rules import NodeRules
from numaplace.wire.machine import machine

SPEC, NUMAS, GPUS, CPUS = "2pkg 2numa 36cpu 8gpu pix", 2, 4, 16  # a node, and what each numa can give
LABELS = {"ack.node.gpu.schedule": "topology"}


def study(sequences: int, *, pods: int = 10, seed: int = 3) -> None:
    """Print how many GPUs and Pods random sequences place, and the best that was possible."""
    random = Random(seed)
    ours_pods = best_pods = optimal = 0
    for _ in range(sequences):
        requests = [_single(number, random) for number in range(pods)]
        fitted, possible = _in_order(requests), _optimum(requests)
        ours_pods, best_pods = ours_pods + fitted, best_pods + possible
        optimal += fitted == possible
    print(f"  {sequences} random sequences of {pods} single-numa Pods on 2 nodes x 2 numas x {GPUS} GPUs, {CPUS} CPUs")
    print(f"    placed {ours_pods} of the {best_pods} that a perfect order allows ({ours_pods / best_pods:.1%});")
    print(f"    {optimal / sequences:.0%} of the sequences reach their optimum")


def _single(number: int, random: Random) -> PodRequest:
    gpus = random.choice((1, 1, 1, 2, 2, 4))
    return pod(number, gpus, gpus * random.choice((2, 3, 4)), Policy.SINGLE_NUMA_NODE)


def _in_order(requests: list[PodRequest]) -> int:
    topology = machine(SPEC)
    reserved = union(next(core for core in topology.cores if core.issubset(numa.cpus)) for numa in topology.numas)
    rules = (NodeRules(name=NodeName(name), labels=LABELS) for name in ("a", "b"))
    nodes = (node_state(one.name, one, topology, reserved) for one in rules)
    index = NodeIndex(ClusterState({node.name: node for node in nodes}))
    return sum(isinstance(decision.answer, Placement) for decision in plan_with(index, requests))


def _optimum(requests: list[PodRequest]) -> int:
    """The most Pods that fit at once, by trying every numa (or none) for each; equal numas once."""
    asks = [(request.gpus, request.cpus) for request in requests]

    def most(i: int, rooms: tuple[tuple[int, int], ...], placed: int, best: int) -> int:
        if placed + len(asks) - i <= best:
            return best
        if i == len(asks):
            return placed
        gpus, cpus = asks[i]
        for n, (free_gpus, free_cpus) in enumerate(rooms):
            if rooms.index(rooms[n]) == n and free_gpus >= gpus and free_cpus >= cpus:
                left = (*rooms[:n], (free_gpus - gpus, free_cpus - cpus), *rooms[n + 1 :])
                best = most(i + 1, left, placed + 1, best)
        return most(i + 1, rooms, placed, best)

    return most(0, ((GPUS, CPUS),) * (2 * NUMAS), 0, -1)

"""Invariants of many nodes: bounds are true (8), and the vector path answers as one node after the other does (9)."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.place import NodeIndex, Placement, judge, nearness, place_on, plan
from numaplace.decide.place.ask import ask_of
from numaplace.decide.place.bounds import NOWHERE, bounds_of, packed
from numaplace.decide.place.rows import Rows
from numaplace.decide.track import violations
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from tests.oracle.world import world_of
from tests.properties.books import WISHES, Scene, scenes
from tests.properties.effort import examples
from tests.properties.pods import pod_requests, renamed

Nodes = dict[NodeName, NodeState]


@st.composite
def clusters(draw: st.DrawFn) -> list[tuple[Scene, bool]]:
    """A few kinds of machines, each once or more with a book of its own; now and then one that is not enabled."""
    kinds = draw(st.lists(scenes(most_holders=0), min_size=1, max_size=2))
    books = st.lists(WISHES, max_size=3).map(tuple)
    nodes = st.builds(lambda kind, wishes: replace(kind, wishes=wishes), st.sampled_from(kinds), books)
    return draw(st.lists(st.tuples(nodes, st.integers(0, 5).map(lambda oddity: oddity < 5)), min_size=1, max_size=5))


@st.composite
def pod_lists(draw: st.DrawFn) -> list[PodRequest]:
    """Pods of a few kinds, as controllers make them: equal but for their names."""
    kinds = draw(st.lists(pod_requests(most_gpus=4, most_hcas=2), min_size=1, max_size=3))
    pods = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=8))
    return [renamed(pod, f"pod-{i}") for i, pod in enumerate(pods)]


CHOSEN = st.builds(Settings, spread_nodes=st.booleans())


def nodes_of(cluster: list[tuple[Scene, bool]]) -> Nodes:
    states = (scene.node(f"node-{i}", enabled=enabled) for i, (scene, enabled) in enumerate(cluster))
    return {node.name: node for node in states}


def best_by_hand(nodes: Nodes, request: PodRequest, chosen: Settings) -> Placement | Refusal:
    """The best rank of all nodes, the lower name on ties; else the refusal of the nearest miss."""
    answers = {name: judge(nodes[name], request, chosen) for name in sorted(nodes)}
    places = [answer for answer in answers.values() if isinstance(answer, Placement)]
    if places:
        return min(places, key=lambda place: place.rank)
    refusals = [(nodes[name], answer) for name, answer in answers.items() if isinstance(answer, Refusal)]
    return min(refusals, key=lambda one: nearness(one[0], request, one[1]))[1]


@given(clusters(), pod_lists(), CHOSEN)
@settings(max_examples=examples(60))
def test_a_plan_is_what_one_node_after_the_other_would_say(
    cluster: list[tuple[Scene, bool]], pods: list[PodRequest], chosen: Settings
) -> None:
    nodes = nodes_of(cluster)
    planned = plan(ClusterState(nodes), pods, chosen)
    assert [decision.request for decision in planned.decisions] == sorted(pods, key=lambda pod: pod.order)
    for decision in planned.decisions:
        right = best_by_hand(nodes, decision.request, chosen)
        if isinstance(decision.answer, Refusal):
            assert isinstance(right, Refusal)
            assert (decision.answer.code, decision.answer.node) == (right.code, right.node)
            assert decision.answer.sentence.endswith(right.sentence)
        else:
            assert decision.answer == right
            allocation = decision.answer.allocation
            held = Holder(decision.request, allocation, Phase.HELD)
            nodes[allocation.node] = nodes[allocation.node].holding(held)
    assert dict(planned.state.nodes) == nodes


@given(clusters(), pod_lists())
@settings(max_examples=examples(40))
def test_planned_pods_own_everything_alone(cluster: list[tuple[Scene, bool]], pods: list[PodRequest]) -> None:
    for node in plan(ClusterState(nodes_of(cluster)), pods).state.nodes.values():
        assert violations(node) == []
        holders = list(node.holders.values())
        cpus = [cpu for h in holders if h.allocation for cpu in h.allocation.cpus]
        gpus = [gpu.pci for h in holders if h.allocation for gpu in h.allocation.gpus]
        alone = [h.allocation for h in holders if h.allocation and h.request.hcas_exclusive]
        hcas = [hca.name for allocation in alone for hca in allocation.hcas]
        assert all(len(owned) == len(set(owned)) for owned in (cpus, gpus, hcas))
        world = world_of(node)
        assert all(1000 * len(world.free_cpus(numa)) >= world.confined.get(numa, 0) for numa in world.numas), (
            "confined Pods have less than they were promised"
        )


@given(clusters(), pod_requests(), CHOSEN, st.sets(st.integers(0, 6)))
@settings(max_examples=examples(60))
def test_asking_a_few_nodes_says_what_a_search_of_them_finds(
    cluster: list[tuple[Scene, bool]], request: PodRequest, chosen: Settings, which: set[int]
) -> None:
    nodes, names = nodes_of(cluster), {NodeName(f"node-{i}") for i in which}
    index = NodeIndex(ClusterState(nodes), chosen)
    for _ in range(2):  # with nothing remembered, and with what a search of all leaves
        found = [name for name in names & nodes.keys() if isinstance(judge(nodes[name], request, chosen), Placement)]
        assert index.takes(request, names) is bool(found)
        index.best(request)


@given(clusters(), pod_requests(), CHOSEN)
@settings(max_examples=examples(60))
def test_what_a_bound_rules_out_the_search_never_finds(
    cluster: list[tuple[Scene, bool]], request: PodRequest, chosen: Settings
) -> None:
    nodes = list(nodes_of(cluster).values())
    bounds = bounds_of(Rows(tuple(nodes)), ask_of(request), chosen, np.arange(len(nodes)))
    for node, bound in zip(nodes, bounds.tolist(), strict=True):
        answer = place_on(node, request, chosen)
        if isinstance(answer, Placement):
            assert bound != NOWHERE, f"{node.name} was ruled out and takes the Pod"
            assert bound <= packed(answer.rank)

"""The placer against brute force: the same place under the one key, or a refusal with the same code (invariant 3)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.place import place_on
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from tests.oracle import cores, inside
from tests.oracle.refusals import code_of
from tests.oracle.search import best, key_of
from tests.oracle.worked import CASES, Case, gpu
from tests.oracle.world import world_of
from tests.properties.books import Scene, scenes
from tests.properties.effort import examples
from tests.properties.machines import servers
from tests.properties.pods import occasions, pod_requests, renamed


def check(node: NodeState, request: PodRequest) -> NodeState:
    """Compare the two answers; the node with the Pod on it where it fits."""
    world, answer = world_of(node), place_on(node, request)
    right = best(world, request)
    if isinstance(answer, Refusal):
        assert right is None, f"refused with {answer.code}, but there is a place: {right}"
        assert answer.code is code_of(world, request)
        assert answer.node == node.name
        return node
    assert right is not None, f"placed where nothing fits: {answer.allocation}"
    choice = inside.choice_in(world, request, answer.allocation)
    assert key_of(world, request, choice) == right[0], f"{answer.allocation} is not {right[1]}"
    assert choice == right[1]
    assert answer.allocation.width == right[0][0]
    assert inside.complaints(node, request, answer.allocation) == []
    assert cores.complaints(world, request, answer.allocation) == []
    return node.holding(Holder(request, answer.allocation))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_the_placer_finds_what_was_worked_by_hand(case: Case) -> None:
    node = case.node()
    answer = place_on(node, case.request)
    if isinstance(answer, Refusal):
        assert answer.code is case.code
    else:
        assert answer.allocation.numas == case.numas
        assert [g.pci for g in answer.allocation.gpus] == gpu(*case.gpus)
        assert [h.name for h in answer.allocation.hcas] == [f"mlx5_{i}" for i in case.hcas]
    check(node, case.request)


@given(occasions())
@settings(max_examples=examples(250))
def test_one_pod_on_a_node_in_any_state(occasion: tuple[Scene, PodRequest]) -> None:
    scene, request = occasion
    check(scene.node(), request)


@given(scenes(most_holders=1), st.lists(pod_requests(most_gpus=3, most_hcas=2), min_size=2, max_size=6))
@settings(max_examples=examples(80))
def test_pods_one_after_the_other(scene: Scene, requests: list[PodRequest]) -> None:
    node = scene.node()
    for index, request in enumerate(requests):
        node = check(node, renamed(request, f"pod-{index}"))


@given(scenes(servers(), most_holders=3), pod_requests(most_gpus=16, hcas_exclusive=False))
@settings(max_examples=examples(20))
def test_a_regular_server_of_sixteen_gpus(scene: Scene, request: PodRequest) -> None:
    check(scene.node(), request)


@given(scenes(servers(), most_holders=3), pod_requests(most_gpus=3, most_hcas=3, hcas_exclusive=True))
@settings(max_examples=examples(20))
def test_a_regular_server_of_sixteen_hcas(scene: Scene, request: PodRequest) -> None:
    check(scene.node(), request)

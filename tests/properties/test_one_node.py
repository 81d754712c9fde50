"""Invariants of one node: releasing never hurts (4), equal inputs give equal answers (5)."""

from dataclasses import replace
from types import MappingProxyType

from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.place import place_on
from numaplace.model.cluster import Holder, NodeState, node_state
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from tests.oracle.described import topology_of
from tests.properties.books import Scene, scenes
from tests.properties.effort import examples
from tests.properties.pods import pod_requests, renamed


def filled(scene: Scene, requests: list[PodRequest]) -> NodeState:
    """The scene's node with those of the Pods placed that fit."""
    node = scene.node()
    for index, request in enumerate(requests):
        node = placed(node, renamed(request, f"pod-{index}"))
    return node


def placed(node: NodeState, request: PodRequest) -> NodeState:
    answer = place_on(node, request)
    return node if isinstance(answer, Refusal) else node.holding(Holder(request, answer.allocation))


@given(scenes(), st.lists(pod_requests(most_gpus=4, most_hcas=2), min_size=1, max_size=5))
@settings(max_examples=examples(100))
def test_releasing_a_pod_never_turns_a_fit_into_a_refusal(scene: Scene, requests: list[PodRequest]) -> None:
    node = filled(scene, requests[: len(requests) // 2])
    for request in requests:
        if not isinstance(place_on(node, request), Refusal):
            for leaving in node.holders:
                assert not isinstance(place_on(node.without(leaving), request), Refusal), f"{leaving} left"


@given(scenes(), st.lists(pod_requests(), max_size=3), pod_requests())
@settings(max_examples=examples(60))
def test_equal_nodes_give_equal_bytes(scene: Scene, others: list[PodRequest], request: PodRequest) -> None:
    node = filled(scene, others)
    again = node_state(node.name, node.rules, topology_of(scene.shape), node.reserved)
    again = replace(again, holders=MappingProxyType(dict(list(node.holders.items())[::-1])))
    assert repr(place_on(again, request)) == repr(place_on(node, request))

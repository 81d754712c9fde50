"""Cutting the oracle's sets of devices by symmetry changes no answer."""

from dataclasses import replace

from hypothesis import given, settings

from numaplace.model.request import PodRequest
from tests.oracle.search import best
from tests.oracle.world import world_of
from tests.properties.books import Scene, scenes
from tests.properties.effort import examples
from tests.properties.pods import pod_requests


@given(scenes(most_holders=2), pod_requests(most_hcas=2))
@settings(max_examples=examples(60))
def test_sets_that_differ_by_name_alone_are_one(scene: Scene, request: PodRequest) -> None:
    world = world_of(scene.node())
    assert best(replace(world, cut_above=0), request) == best(world, request)

"""Invariant 6: decode(encode(x)) = x for what is written down, and other versions are refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.place import place_on
from numaplace.model.errors import InputError
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.wire import allocation, topology
from tests.oracle.described import Shape, topology_of
from tests.properties.books import Scene, scenes
from tests.properties.effort import examples
from tests.properties.machines import shapes
from tests.properties.pods import pod_requests

OTHER_VERSIONS = st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.integers().filter(lambda v: v != 1))


@given(scenes(most_holders=1), pod_requests(most_gpus=3, most_hcas=2), OTHER_VERSIONS)
@settings(max_examples=examples(80))
def test_an_allocation_comes_back_from_its_annotation(scene: Scene, request: PodRequest, version: object) -> None:
    answer = place_on(scene.node(), request)
    if isinstance(answer, Refusal):
        return
    text = allocation.encode(answer.allocation)
    assert allocation.decode(text, "annotation") == answer.allocation
    assert allocation.encode(allocation.decode(text, "annotation")) == text
    with pytest.raises(InputError, match="version"):
        allocation.decode(json.dumps({**json.loads(text), "v": version}), "annotation")


@given(shapes(), OTHER_VERSIONS)
@settings(max_examples=examples(60))
def test_a_topology_comes_back_from_its_document(shape: Shape, version: object) -> None:
    machine = topology_of(shape)
    text = topology.encode(machine)
    assert topology.decode(text).topology == machine
    assert topology.encode(topology.decode(text).topology) == text
    with pytest.raises(InputError, match="version"):
        topology.decode(json.dumps({**json.loads(text), "v": version}))

"""Which node a refusal tells of: of those with the same code the one that lacks least, whoever is asked."""

import json
from dataclasses import replace

import pytest

from numaplace.decide.place import NodeIndex
from numaplace.model.cluster import ClusterState, Holder
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest, Policy
from numaplace.model.settings import Settings
from numaplace.tools.sim.explaining import explain
from numaplace.tools.sim.reasons import reasons_of, refusals
from tests.objects import admitted, container
from tests.tools.paper import cluster

EXCLUSIVE = Settings(hcas_exclusive=True)


def nodes(**machines: str) -> ClusterState:
    """Enabled nodes by name."""
    labels = {"ack.node.gpu.schedule": "topology"}
    groups = [{"name": name, "machine": machine, "labels": labels} for name, machine in machines.items()]
    return cluster(json.dumps({"nodes": groups}), EXCLUSIVE)


def asking(gpus: int = 0, cpus: int = 1, hcas: int = 0, policy: str = "SingleNUMANode") -> PodRequest:
    amounts = {"cpu": str(cpus), "aliyun.com/gpu": str(gpus), "rdma/hca": str(hcas)}
    limits = {name: amount for name, amount in amounts.items() if amount != "0"}
    annotations = {"cpuset-scheduler": "required", "numaplace.dev/policy": policy}
    return admitted(container(limits=limits), annotations=annotations, hostNetwork=True, settings=EXCLUSIVE)


def told(state: ClusterState, request: PodRequest) -> Refusal:
    """The refusal of the cluster; whoever asks node by node comes to the same node."""
    refusal = NodeIndex(state, EXCLUSIVE).why_not(request)
    answers = refusals(state.nodes.values(), request, EXCLUSIVE, None)
    assert answers[0].node == refusal.node
    assert refusal.sentence.endswith(answers[0].sentence)
    found = explain(state.nodes.values(), request, EXCLUSIVE)
    assert (found.views[0].node, found.refusal) == (refusal.node, answers[0])
    assert reasons_of(answers)[0].code is refusal.code
    assert f"node {refusal.node}:" in reasons_of(answers)[0].sentence
    return refusal


FOUR, SIX, WIDE = "1pkg 1numa 32cpu 4gpu 4hca pix", "2pkg 2numa 64cpu 6gpu 6hca pix", "2pkg 2numa 32cpu 8gpu 8hca pix"


@pytest.mark.parametrize(
    ("machines", "request_", "node"),
    [
        ({"a": FOUR, "b": SIX}, asking(gpus=8, policy="Restricted"), "b"),  # 2 GPUs short in the whole node, not 4
        ({"a": FOUR, "b": SIX}, asking(gpus=8), "a"),  # its best NUMA node has 4, not 3
        ({"a": SIX, "b": WIDE}, asking(gpus=4, cpus=24), "b"),  # CPUs are easier to do without than a GPU
        ({"a": "1pkg 1numa 16cpu", "b": "1pkg 1numa 32cpu"}, asking(cpus=64), "b"),
        ({"a": "1pkg 1numa 32cpu 4gpu 1hca", "b": "1pkg 1numa 16cpu 4gpu 2hca"}, asking(gpus=1, hcas=3, cpus=8), "b"),
        ({"b": FOUR, "a": FOUR, "c": FOUR}, asking(gpus=8), "a"),  # equals: the lower name
    ],
)
def test_the_node_that_lacks_least_is_told(machines: dict[str, str], request_: PodRequest, node: str) -> None:
    assert told(nodes(**machines), request_).node == node


def test_what_is_taken_is_lacking() -> None:
    state, request = nodes(a=FOUR, b=FOUR), asking(gpus=8)
    assert told(state, request).node == "a"
    index = NodeIndex(state, EXCLUSIVE)
    placement = index.best(asking(gpus=2))
    assert placement is not None
    assert placement.allocation.node == "a"
    held = state.nodes[placement.allocation.node].holding(Holder(asking(gpus=2), placement.allocation))
    assert told(state.with_node(held), request).node == "b"
    index.update(held)
    assert index.why_not(request).node == "b"
    assert index.why_not(replace(request, policy=Policy.BEST_EFFORT)).node == "b"

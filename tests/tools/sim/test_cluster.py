"""What a described machine offers as a node, and which Pods a DaemonSet makes there."""

import pytest

from numaplace.model.settings import Settings
from numaplace.tools.sim.arrivals import intake_of, pods_of, renamed_apart
from numaplace.wire.manifests import decode_manifests
from tests.tools.paper import ENABLED, SMALL, cluster

DAEMON = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  template:
    spec:
      nodeSelector: {ack.node.gpu.schedule: topology}
      containers: [{name: c, resources: {limits: {cpu: 1, memory: 1Gi}}}]
"""


@pytest.mark.parametrize(
    ("more", "hcas", "offered"),
    [
        (ENABLED, "shared", {"aliyun.com/gpu": 4, "rdma/hca": 1000}),
        ("labels: {}", "shared", {"nvidia.com/gpu": 4, "rdma/hca": 1000}),
        (ENABLED, "exclusive", {"aliyun.com/gpu": 4, "rdma/hca": 4}),
        (f"{ENABLED}, allocatable: {{rdma/hca: 7, aliyun.com/gpu: 3}}", "shared", {"aliyun.com/gpu": 3, "rdma/hca": 7}),
    ],
)
def test_cards_are_offered_under_the_name_of_their_owner(more: str, hcas: str, offered: dict[str, int]) -> None:
    settings = Settings(hcas_exclusive=hcas == "exclusive")
    (node,) = cluster(f"nodes:\n- {{name: n, machine: {SMALL}, {more}}}", settings).nodes.values()
    assert node.rules.allocatable is not None
    assert dict(node.rules.allocatable.others) == offered


@pytest.mark.parametrize("more", [ENABLED, "labels: {}"])
def test_where_no_other_plugin_owns_cards_every_node_offers_ours(more: str) -> None:
    settings = Settings(gpu_resource="nvidia.com/gpu")
    (node,) = cluster(f"nodes:\n- {{name: n, machine: {SMALL}, {more}}}", settings).nodes.values()
    assert node.rules.allocatable is not None
    assert node.rules.allocatable.others["nvidia.com/gpu"] == 4


def test_reserved_cpus_and_hugepages_are_not_offered_as_cpu_and_memory() -> None:
    text = f"nodes:\n- {{name: n, machine: 2pkg 32cpu 64GiB 512x2MiB, reserved: '0,16', {ENABLED}}}"
    (node,) = cluster(text).nodes.values()
    told = node.rules.allocatable
    assert told is not None
    assert told.cpu_milli == 30_000
    assert told.others["hugepages-2Mi"] == 2 * (1 << 30)
    assert told.memory_bytes == 62 * (1 << 30)


def test_a_daemon_set_makes_one_pod_for_each_node_it_belongs_to() -> None:
    nodes = cluster(
        f"nodes:\n- {{name: on-#, count: 2, machine: {SMALL}, {ENABLED}}}\n- {{name: plain, machine: {SMALL}}}"
    ).nodes.values()
    pods = tuple(pods_of(decode_manifests(DAEMON, "ds.yaml").workloads, nodes, Settings()))
    assert [pod.name for pod in pods] == ["agent-on-1", "agent-on-2"]


def test_a_daemon_set_that_is_not_valid_is_refused_once() -> None:
    text = DAEMON.replace("  template:\n", "  template:\n    metadata: {annotations: {cpuset-scheduler: maybe}}\n")
    pods = pods_of(
        decode_manifests(text, "ds.yaml").workloads,
        cluster(f"nodes:\n- {{name: n, machine: {SMALL}}}").nodes.values(),
        Settings(),
    )
    (refused,) = intake_of(((pod, 0.0, None) for pod in pods), Settings()).invalid
    assert refused.name == "default/agent"


def test_pods_of_one_name_from_two_files_stay_apart() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}"
    (one,) = (workload.template for workload in decode_manifests(text, "a.yaml").workloads)
    assert [pod.name for pod in renamed_apart([one, one, one])] == ["a", "a~2", "a~3"]

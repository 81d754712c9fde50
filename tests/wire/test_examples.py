"""The example manifests in deploy/examples ask what the documents they come from ask."""

import pytest

from numaplace.decide.admit import check
from numaplace.model.pod import Pod
from numaplace.model.request import CpuMode, Exclusivity, PodRequest, Policy
from numaplace.model.settings import Settings
from numaplace.wire.manifests import decode_manifests
from numaplace.wire.workload import expand
from tests.recorded import ROOT

EXAMPLES = ROOT / "deploy" / "examples"


def only_pod(name: str) -> Pod:
    found = decode_manifests((EXAMPLES / name).read_text(), name)
    assert found.skipped == {}
    assert found.warnings == ()
    (workload,) = found.workloads
    (pod,) = expand(workload)
    return pod


def only_request(name: str) -> PodRequest:
    request = check(only_pod(name), Settings())
    assert isinstance(request, PodRequest)
    return request


@pytest.mark.parametrize(
    ("name", "exclusivity"),
    [("pod-example.yaml", Exclusivity.PREFERRED), ("deployment-tgi-numa.yaml", Exclusivity.REQUIRED)],
)
def test_the_placed_ones_ask_four_gpus_and_24_cpus_in_one_numa(name: str, exclusivity: Exclusivity) -> None:
    request = only_request(name)
    assert (request.policy, request.exclusivity) == (Policy.SINGLE_NUMA_NODE, exclusivity)
    assert (request.cpu_mode, request.cpus, request.gpus) == (CpuMode.EXCLUSIVE, 24, 4)


def test_the_plain_one_asks_the_vendors_gpus_and_no_placement() -> None:
    request = only_request("deployment-tgi-plain.yaml")
    assert not request.is_planned
    assert request.namespace == "test"
    assert request.rules.amounts.cpu_milli == 24_000
    assert request.rules.amounts.others == {"nvidia.com/gpu": 4}


def test_the_benchmark_uses_rdma_of_the_host_and_tolerates_everything() -> None:
    pod, request = only_pod("job-hps-benchmark.yaml"), only_request("job-hps-benchmark.yaml")
    assert pod.host_network
    assert request.hcas == 1
    assert not request.is_planned
    assert request.rules.amounts.others == {"nvidia.com/gpu": 8, "rdma/hca": 1}
    assert [(one.key, one.operator) for one in request.rules.tolerations] == [("", "Exists")]


def test_the_prerequisites_make_no_pods() -> None:
    found = decode_manifests((EXAMPLES / "prerequisites.yaml").read_text(), "prerequisites.yaml")
    assert found.workloads == ()
    assert found.skipped == {"Namespace": 2, "PersistentVolumeClaim": 2}

"""Rules on what containers ask, each with the container, what was found and what is legal."""

from typing import Any

import pytest

from numaplace.decide.admit.resources import page_bytes_of
from numaplace.model.request import Hugepages
from numaplace.model.settings import Settings
from tests.objects import OURS, admitted, container, refused, sidecar

GPU = {"cpu": "4", "aliyun.com/gpu": 1}


@pytest.mark.parametrize("cpu", ["2", 2, "2000m", "2e0", "2.0"])
def test_two_cpus_can_be_written_in_many_ways(cpu: object) -> None:
    assert admitted(container(limits={"cpu": cpu}), annotations=OURS).cpus == 2


@pytest.mark.parametrize(
    ("limits", "requests", "found"),
    [
        ({}, {}, "limits.cpu: found nothing; expected a whole number of CPUs, at least 1"),
        ({}, {"cpu": 2}, "limits.cpu: found nothing"),
        ({"cpu": "1500m"}, {"cpu": "1500m"}, "limits.cpu: found 1500m"),
        ({"cpu": "500m"}, {}, "limits.cpu: found 500m"),
        ({"cpu": 0}, {}, "limits.cpu: found 0"),
        ({"cpu": 4}, {"cpu": 2}, "requests.cpu: found 2; expected 4, the same as limits.cpu"),
    ],
)
def test_exclusive_cpus_are_whole_and_guaranteed(
    limits: dict[str, object], requests: dict[str, object], found: str
) -> None:
    text = refused(container("web", limits, requests=requests), annotations=OURS)
    assert f"container web: {found}" in text


def test_sidecars_own_cpus_like_app_containers() -> None:
    text = refused(container(limits={"cpu": 2}), init=(sidecar("log", {"cpu": "100m"}),), annotations=OURS)
    assert "container log: limits.cpu: found 100m" in text


def test_an_injected_container_is_named_with_its_injector() -> None:
    text = refused(container(limits={"cpu": 2}), container("istio-proxy", {"cpu": "100m"}), annotations=OURS)
    assert "container istio-proxy" in text
    assert "usually comes from Istio" in text


def test_containers_that_the_operator_lists_share_instead() -> None:
    settings = Settings(sharing_containers=("istio-proxy",))
    request = admitted(
        container(limits={"cpu": 2}), container("istio-proxy", {"cpu": "100m"}), annotations=OURS, settings=settings
    )
    assert [one.cpus for one in request.containers] == [2, 0]
    assert request.shared_cpu_milli == 100


def test_a_pod_whose_containers_all_share_owns_nothing() -> None:
    settings = Settings(sharing_containers=("main",))
    assert "expected one that owns CPUs" in refused(container(limits={"cpu": 2}), annotations=OURS, settings=settings)


def test_plain_init_containers_need_no_whole_cpus() -> None:
    request = admitted(container(limits={"cpu": 2}), init=(container("fetch", {"cpu": "7500m"}),), annotations=OURS)
    assert (request.cpus, request.shared_cpu_milli) == (2, 0)
    assert request.rules.amounts.cpu_milli == 7500


def test_exclusive_cpus_are_not_resized_in_place() -> None:
    resize = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    text = refused(container(limits={"cpu": 2}, resizePolicy=resize), annotations=OURS)
    assert "container main: resizePolicy: found one for cpu; expected none" in text
    assert admitted(container(limits={"cpu": 2}, resizePolicy=resize), annotations={}).cpus == 0


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"])
def test_a_placement_takes_whole_cards_of_our_resource(resource: str) -> None:
    text = refused(container(limits={"cpu": 2, resource: 1}), annotations=OURS)
    assert f"found {resource} beside a placement key; expected whole cards as aliyun.com/gpu" in text


def test_other_gpus_without_our_keys_are_none_of_our_business() -> None:
    request = admitted(container(limits={"cpu": 2, "nvidia.com/gpu": 4}))
    assert not request.is_planned
    assert request.rules.amounts.others == {"nvidia.com/gpu": 4}


def test_a_vendors_other_devices_may_stand_beside_a_placement() -> None:
    request = admitted(container(limits={"cpu": 2, "nvidia.com/hostdev": 1}), annotations=OURS)
    assert request.rules.amounts.others == {"nvidia.com/hostdev": 1}


@pytest.mark.parametrize(
    ("limits", "requests", "sentence"),
    [
        ({"aliyun.com/gpu": "500m"}, {"aliyun.com/gpu": "500m"}, "found 500m; expected a whole number"),
        ({"aliyun.com/gpu": 2}, {"aliyun.com/gpu": 1}, "limits[aliyun.com/gpu]: found 2; expected 1, the same as"),
        ({}, {"aliyun.com/gpu": 1}, "limits[aliyun.com/gpu]: found nothing; expected 1"),
        ({"hugepages-2Mi": "3Mi"}, {"hugepages-2Mi": "3Mi"}, "expected a multiple of 2097152 bytes"),
        ({"hugepages-2Mb": "2Mi"}, {"hugepages-2Mb": "2Mi"}, "found an unknown page size"),
        ({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "2Mi"}, "limits[hugepages-2Mi]: found 4194304; expected 2097152"),
    ],
)
def test_devices_and_pages_are_whole_and_guaranteed(
    limits: dict[str, object], requests: dict[str, object], sentence: str
) -> None:
    assert sentence in refused(container(limits=limits, requests=requests))


def test_rdma_of_the_host_needs_the_hosts_network() -> None:
    asking = container("mpi", {"rdma/hca": 1})
    assert "spec.hostNetwork: found false while container mpi asks rdma/hca; expected true" in refused(asking)
    assert admitted(asking, hostNetwork=True).hcas == 1
    assert admitted(asking, settings=Settings(pod_ip_rdma=True)).hcas == 1
    assert admitted(container(limits={"rdma/hca": 0})).hcas == 0


def test_a_plain_init_container_with_rdma_needs_it_too() -> None:
    assert "container probe asks rdma/hca" in refused(init=(container("probe", {"rdma/hca": 1}),))


def test_bound_memory_is_told_by_every_container() -> None:
    bound = {**OURS, "numaplace.dev/memory": "bind"}
    text = refused(container("a", {"cpu": 1, "memory": "1Gi"}), container("b", {"cpu": 1}), annotations=bound)
    assert "container b: requests.memory: found nothing" in text
    assert "container a" not in text


def test_memory_is_bound_only_where_something_is_placed() -> None:
    bound = {"numaplace.dev/memory": "bind"}
    text = refused(container(limits={"memory": "1Gi"}), annotations=bound)
    assert "found bind on a Pod without a placement; expected a policy, exclusive CPUs or aliyun.com/gpu" in text
    assert admitted(container(limits={"memory": "1Gi", "aliyun.com/gpu": 1}), annotations=bound).gpus == 1


EXCLUDING = [
    ({"annotations": {**OURS, "cpu-policy": "static-burst"}}, GPU, "annotation cpu-policy: found beside"),
    ({"annotations": OURS, "labels": {"gpu-topology": "job"}}, GPU, "label gpu-topology: found beside"),
    ({"labels": {"gpu-topology-replica": "2"}}, GPU, "label gpu-topology-replica: found beside"),
    ({"annotations": OURS}, {**GPU, "aliyun.com/gpu-mem": 4}, "resource aliyun.com/gpu-mem: found a share of a card"),
    ({}, {**GPU, "aliyun.com/gpu-count": 1}, "resource aliyun.com/gpu-count: found a share of a card"),
]


@pytest.mark.parametrize(("more", "limits", "sentence"), EXCLUDING, ids=[sentence[:40] for *_, sentence in EXCLUDING])
def test_features_that_exclude_ours_are_named(more: dict[str, Any], limits: dict[str, object], sentence: str) -> None:
    assert sentence in refused(container(limits=limits), **more)


def test_the_same_keys_on_pods_of_others_are_let_in() -> None:
    request = admitted(
        container(limits={"aliyun.com/gpu-mem": 4}), annotations={"cpu-policy": "x"}, labels={"gpu-topology": "j"}
    )
    assert not request.is_planned


def test_resources_of_the_whole_pod_are_only_for_pods_that_are_not_placed() -> None:
    whole = {"limits": {"cpu": 8, "memory": "8Gi"}}
    assert "spec.resources: found cpu, memory for the whole Pod" in refused(
        container(limits={"cpu": 2}), annotations=OURS, resources=whole
    )
    assert admitted(container(limits={"cpu": 2}), resources=whole).rules.amounts.cpu_milli == 8000


def test_configured_resource_names_are_used() -> None:
    settings = Settings(gpu_resource="example.com/card", hca_resource="example.com/nic", pod_ip_rdma=True)
    request = admitted(container(limits={"example.com/card": 2, "example.com/nic": 1}), settings=settings)
    assert (request.gpus, request.hcas) == (2, 1)


@pytest.mark.parametrize("foreign", [("nvidia.com/gpu",), ("amd.com/gpu", "nvidia.com/gpu", "amd.com/gpu"), ()])
def test_cards_that_are_ours_are_not_also_those_of_another_plugin(foreign: tuple[str, ...]) -> None:
    settings = Settings(gpu_resource="nvidia.com/gpu", foreign_gpu_resources=foreign)
    request = admitted(container(limits={"cpu": 2, "nvidia.com/gpu": 4}), annotations=OURS, settings=settings)
    assert (request.gpus, request.foreign_gpus) == (4, 0)
    part = container(limits={"cpu": 2, "nvidia.com/gpu.shared": 1})
    assert "expected whole cards as nvidia.com/gpu" in refused(part, annotations=OURS, settings=settings)


def test_a_plugin_that_is_named_twice_counts_once() -> None:
    settings = Settings(foreign_gpu_resources=("nvidia.com/gpu", "nvidia.com/gpu"))
    assert admitted(container(limits={"nvidia.com/gpu": 4}), settings=settings).foreign_gpus == 4


@pytest.mark.parametrize(
    ("name", "page_bytes"),
    [
        ("hugepages-2Mi", 2**21),
        ("hugepages-1Gi", 2**30),
        ("hugepages-64Ki", 2**16),
        ("hugepages-2M", None),
        ("hugepages-", None),
        ("hugepages-0Mi", None),
        ("hugepages-²Mi", None),
        ("hugepages--2Mi", None),
    ],
)
def test_a_hugepages_resource_names_its_page_size(name: str, page_bytes: int | None) -> None:
    assert page_bytes_of(name) == page_bytes


def test_hugepages_are_counted_in_pages_by_rising_size() -> None:
    request = admitted(container(limits={"hugepages-1Gi": "2Gi", "hugepages-2Mi": "8Mi", "hugepages-64Ki": 0}))
    assert request.hugepages == (Hugepages(2**21, 4), Hugepages(2**30, 2))

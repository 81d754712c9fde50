"""A whole Pod from object to request: what is taken over, what is planned, and what a person is warned of."""

import pytest

from numaplace.decide.admit import check, check_bound, warnings
from numaplace.model.refusal import Refusal
from numaplace.model.request import ContainerKind, ContainerRequest, CpuMode, Policy
from numaplace.model.settings import Settings
from tests.objects import OURS, a_pod, admitted, container

HCA = {"cpu": 2, "rdma/hca": 2}


def test_a_request_carries_who_the_pod_is_and_its_turn() -> None:
    request = admitted(container(limits={"cpu": 2}), annotations=OURS, priority=5, nodeName="e01", labels={"a": "b"})
    assert (request.full_name, request.uid, request.priority, request.bound_to) == ("ns/p", "ns/p", 5, "e01")
    assert request.rules.labels == {"a": "b"}
    assert request.containers == (ContainerRequest(request.containers[0].name, ContainerKind.APP, cpus=2),)


@pytest.mark.parametrize(
    ("annotations", "limits", "exclusive_hcas", "planned"),
    [
        ({}, {"cpu": 2}, False, False),
        ({}, {"aliyun.com/gpu": 1}, False, True),
        ({}, {"nvidia.com/gpu": 1}, False, False),
        ({}, HCA, False, False),
        ({}, HCA, True, True),
        ({"numaplace.dev/policy": "BestEffort"}, {"cpu": 2}, False, True),
        ({"cpuset-scheduler": "required"}, {"cpu": 2}, False, True),
    ],
)
def test_only_what_asks_for_ours_is_planned(
    annotations: dict[str, str], limits: dict[str, object], exclusive_hcas: bool, planned: bool
) -> None:
    settings = Settings(hcas_exclusive=exclusive_hcas)
    request = admitted(container(limits=limits), annotations=annotations, settings=settings, hostNetwork=True)
    assert request.is_planned is planned
    assert request.hcas_exclusive is exclusive_hcas


def test_a_confined_pod_charges_its_cpus_to_its_numas() -> None:
    request = admitted(container(limits={"cpu": "2500m"}), annotations={"numaplace.dev/policy": "Restricted"})
    assert (request.policy, request.cpu_mode, request.cpus) == (Policy.RESTRICTED, CpuMode.CONFINED, 0)
    assert request.shared_cpu_milli == 2500


WARNED = [
    ({"annotations": {"numaplace.dev/polcy": "x"}}, "annotation numaplace.dev/polcy is not known to numaplace"),
    ({"annotations": {"numaplace.dev/cpu-rule": "spread"}}, "numaplace.dev/cpu-rule has no effect without exclusive"),
    ({"annotations": {"numaplace.dev/allocation": "{}"}}, "the planner's own; a written one is ignored"),
    ({"annotations": {"scheduling.koordinator.sh/resource-spec": "{}"}}, "resource-spec is not read by numaplace"),
    ({"annotations": {"numaplace.dev/gate": "on"}}, "numaplace.dev/gate has no effect with this value"),
    ({"resourceClaims": [{"name": "nic"}]}, "resource claims: left to the scheduler"),
]


@pytest.mark.parametrize(("more", "sentence"), WARNED, ids=[sentence[:40] for _, sentence in WARNED])
def test_what_has_no_effect_is_said(more: dict[str, object], sentence: str) -> None:
    (warning,) = warnings(a_pod(**more))
    assert warning.startswith("Pod ns/p: ")
    assert sentence in warning


def test_a_usual_pod_gets_no_warning() -> None:
    annotations = {**OURS, "numaplace.dev/gate": "off", "example.com/x": "y", "numaplace.dev/cpu-rule": "spread"}
    assert warnings(a_pod(annotations=annotations)) == ()


def test_a_pod_that_has_its_node_takes_its_amounts_there_whatever_its_words() -> None:
    pod = a_pod(container(limits={"aliyun.com/gpu": 3}), annotations=OURS, nodeName="e01")
    assert isinstance(check(pod, Settings()), Refusal)
    request = check_bound(pod, Settings())
    assert (request.gpus, request.policy, request.cpu_mode) == (3, Policy.NONE, CpuMode.FLOATING)


def test_a_good_pod_that_has_its_node_takes_what_it_asks() -> None:
    pod = a_pod(container(limits={"cpu": 2}), annotations=OURS, nodeName="e01")
    assert check_bound(pod, Settings()) == check(pod, Settings())

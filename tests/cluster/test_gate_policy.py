"""Which Pods wait at our gate, and what is taken from a Pod that is created with words of another."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from numaplace.adapters.kube import DeniedError, InvalidError, Key, Kube, Resource, json_patch
from numaplace.adapters.kube.resources import PODS
from numaplace.model import keys
from tests.cluster.chart import tried
from tests.cluster.stage import GATE, gone, listed
from tests.objects import OURS, container, pod_object

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
JOBS = Resource("batch", "v1", "jobs", "Job")
FOREIGN = {"name": "kueue.x-k8s.io/admission"}
REQUIRED = "required-plugins.noderesource.dev"
GPU = {"cpu": "2", "aliyun.com/gpu": "1"}
MADE_S = 30.0


def pod(annotations: Mapping[str, str] = OURS, limits: Mapping[str, str] = GPU, **spec: Any) -> dict[str, Any]:
    made = pod_object(container(limits=limits, image="none"), annotations=annotations, **spec)
    del made["metadata"]["namespace"]
    return made


def gates(pod: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = pod["spec"].get("schedulingGates") or []
    return found


OURS_BY = {
    "a policy": pod({keys.POLICY: "BestEffort"}, {"cpu": "100m"}),
    "exclusive CPUs": pod({keys.CPUSET_SCHEDULER: "required"}, {"cpu": "1"}),
    "ACK's key": pod({keys.ACK_NUMA_SPEC: '{"numaTopologyPolicy": "Restricted"}'}, {}),
    "Koordinator's key": pod({keys.KOORDINATOR_NUMA_SPEC: '{"numaTopologyPolicy": "Restricted"}'}, {}),
    "a GPU": pod({}),
    "a GPU in an init container": pod({}, {}, init=(container("first", GPU, image="none"),)),
    "a gate of its own": pod(schedulingGates=[GATE]),
}
NOT_OURS = {
    "no words, no GPU": pod({}, {"cpu": "1"}),
    "another plugin's GPU": pod({}, {"nvidia.com/gpu": "1"}),
    "shared RDMA": pod({}, {"rdma/hca": "1"}, hostNetwork=True),
    "no GPU, in a number": pod({}, {"aliyun.com/gpu": "0"}),
    "an opt-out": pod({**OURS, keys.GATE: "off"}),
    "a node already": pod(nodeName="n1"),
    "another scheduler": pod(schedulerName="koord-scheduler"),
    "a mirror of a static Pod": pod({**OURS, "kubernetes.io/config.mirror": "x"}, nodeName="n1"),
}


@pytest.mark.parametrize("asked", OURS_BY.values(), ids=OURS_BY)
async def test_a_pod_that_asks_for_a_place_waits(kube: Kube, asked: dict[str, Any]) -> None:
    made = await tried(kube, asked, "default")
    assert gates(made) == [GATE]
    assert made["metadata"]["annotations"][REQUIRED] == '["numaplace"]'


@pytest.mark.parametrize("asked", NOT_OURS.values(), ids=NOT_OURS)
async def test_other_pods_are_left_alone(admin: Kube, asked: dict[str, Any]) -> None:
    made = await tried(admin, asked, "default")
    assert gates(made) == []
    if keys.GATE not in asked["metadata"]["annotations"]:
        assert made["metadata"].get("annotations", {}) == asked["metadata"]["annotations"]


async def test_who_opts_out_of_the_gate_still_needs_the_agent(kube: Kube) -> None:
    made = await tried(kube, NOT_OURS["an opt-out"], "default")
    assert made["metadata"]["annotations"][REQUIRED] == '["numaplace"]'


async def test_gates_of_others_stay(kube: Kube) -> None:
    made = await tried(kube, pod(schedulingGates=[FOREIGN, {"name": "other.example/x"}]), "default")
    assert sorted(one["name"] for one in gates(made)) == [FOREIGN["name"], keys.PLAN_GATE, "other.example/x"]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('["other"]', '["other", "numaplace"]'),
        ("[]", '["numaplace"]'),
        ("- other", "- other\n- numaplace"),
        ('["numaplace"]', '["numaplace"]'),
    ],
)
async def test_plugins_that_a_pod_requires_by_itself_stay(kube: Kube, written: str, kept: str) -> None:
    made = await tried(kube, pod({**OURS, REQUIRED: written}), "default")
    assert made["metadata"]["annotations"][REQUIRED] == kept


async def test_no_namespace_is_exempt_unless_the_values_say_so(admin: Kube) -> None:
    for space in ("kube-system", "numaplace-system", "default"):
        assert gates(await tried(admin, pod(), space)) == [GATE]
        with pytest.raises(InvalidError, match="SPEC_INVALID"):
            await tried(admin, pod({keys.POLICY: "x"}), space)


async def test_pods_of_controllers_wait_too(admin: Kube, space: str) -> None:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels, "annotations": OURS}, "spec": pod()["spec"]}
    once = {"template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}}
    by_label = {"selector": {"matchLabels": labels}, "template": template}
    made: tuple[tuple[Resource, dict[str, Any]], ...] = (
        (DEPLOYMENTS, {"metadata": {"name": "deployed"}, "spec": {"replicas": 2, **by_label}}),
        (STATEFUL_SETS, {"metadata": {"name": "numbered"}, "spec": {"serviceName": "s", **by_label}}),
        (JOBS, {"metadata": {"name": "once"}, "spec": {"completions": 2, "parallelism": 2, **once}}),
    )
    for resource, body in made:
        await admin.create(resource, body, space)
    try:
        async with asyncio.timeout(MADE_S):
            while len(pods := await listed(admin, PODS, space)) < 5:
                await asyncio.sleep(0.05)
    finally:
        for resource, body in made:
            await gone(admin, resource, Key(space, body["metadata"]["name"]))
    assert {one["metadata"]["ownerReferences"][0]["kind"] for one in pods} == {"ReplicaSet", "StatefulSet", "Job"}
    assert [gates(one) for one in pods] == [[GATE]] * 5


# --- words of another Pod


@pytest.mark.parametrize(
    "asked",
    [pod(), pod({}, {}), pod(nodeName="n1"), pod(schedulerName="other"), pod({**OURS, keys.GATE: "off"})],
    ids=["ours", "not ours", "bound", "of another scheduler", "opted out"],
)
async def test_a_copied_allocation_never_reaches_a_new_pod(admin: Kube, asked: dict[str, Any]) -> None:
    written = {keys.ALLOCATION: '{"v":1}', keys.OBSERVED: "{}", "numaplace.dev-allocation": "kept", "a/b": "kept"}
    metadata = {**asked["metadata"], "annotations": {**asked["metadata"]["annotations"], **written}}
    for space in ("default", "kube-system"):
        found = (await tried(admin, {**asked, "metadata": metadata}, space))["metadata"]["annotations"]
        assert not {keys.ALLOCATION, keys.OBSERVED} & set(found)
        assert (found["numaplace.dev-allocation"], found["a/b"]) == ("kept", "kept")


async def test_one_of_the_two_is_taken_as_well(kube: Kube) -> None:
    for key in (keys.ALLOCATION, keys.OBSERVED):
        made = await tried(kube, pod({key: "x"}, {}), "default")
        assert key not in made["metadata"].get("annotations", {})


# --- whatever a Pod looks like


async def test_a_pod_as_large_as_may_be_is_judged(kube: Kube) -> None:
    many = {f"example.com/{i:05}": "x" for i in range(12_000)}
    assert gates(await tried(kube, pod({**many, **OURS}), "default")) == [GATE]
    long = {**OURS, "a": "x" * 200_000}
    assert gates(await tried(kube, pod(long), "default")) == [GATE]
    spec = {keys.ACK_NUMA_SPEC: '{"numaTopologyPolicy": "' + "x" * 200_000 + '"}'}
    assert gates(await tried(kube, pod(spec), "default")) == [GATE]
    wide = pod_object(*(container(f"c{i}", {"cpu": "1"}, image="none") for i in range(500)), annotations=OURS)
    wide["metadata"].pop("namespace")
    assert gates(await tried(kube, wide, "default")) == [GATE]


async def test_a_pod_that_is_none_gets_the_api_servers_own_answer(kube: Kube) -> None:
    with pytest.raises(InvalidError, match=r"spec\.containers: Required value"):
        await tried(kube, {"metadata": {"name": "p", "annotations": OURS}, "spec": {}}, "default")


async def test_nobody_adds_the_gate_to_a_pod_that_is_there(admin: Kube, space: str) -> None:
    await admin.create(PODS, pod({**OURS, keys.GATE: "off"}), space)
    add = json_patch([{"op": "add", "path": "/spec/schedulingGates", "value": [GATE]}])
    with pytest.raises((InvalidError, DeniedError), match="only deletion is allowed"):
        await admin.patch(PODS, "p", add, space)

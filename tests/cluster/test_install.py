"""`helm install` and `helm uninstall` on a control plane of its own, with values that are not the defaults.

`kubelet.py` runs the planners and the Pod of the hook.
"""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
import yaml

from numaplace.adapters.kube import DeniedError, Kube, Resource
from numaplace.adapters.kube.resources import NAMESPACES, NODES, PODS
from numaplace.model import keys
from tests.chart.rendered import CHART, IMAGE, RELEASE, SPACE
from tests.cluster.chart import gates, helm, pod, tried
from tests.cluster.control_plane import ControlPlane
from tests.cluster.crds import CRDS
from tests.cluster.kubelet import Kubelet
from tests.cluster.nodes import plain_node
from tests.cluster.planner_process import PLANNER
from tests.cluster.stage import GATE, listed
from tests.cluster.writers import by_binding
from tests.objects import OURS, container

VALUES = {
    **IMAGE,
    "cluster": {
        "schedulers": ["default-scheduler", "second"],
        "gpuResource": "gpu.example/card",
        "foreignGpuResources": ["amd.com/gpu", "gpu.example/card"],
        "hcas": "exclusive",
        "podIpRdma": True,
        "sharingContainers": ["log"],
    },
    "admission": {"exemptNamespaces": ["exempt"]},
    "planner": {"extender": {"enabled": True}},
}
DEADLINE_S = 60.0
_KINDS = (
    Resource("", "v1", "serviceaccounts", "ServiceAccount"),
    Resource("apps", "v1", "deployments", "Deployment"),
    Resource("batch", "v1", "jobs", "Job"),
    *(
        Resource("rbac.authorization.k8s.io", "v1", plural, "", namespaced=False)
        for plural in ("clusterroles", "clusterrolebindings")
    ),
    *(
        Resource("admissionregistration.k8s.io", "v1", f"{kind}admissionpol{end}", "", namespaced=False)
        for kind in ("mutating", "validating")
        for end in ("icies", "icybindings")
    ),
)


@pytest.fixture
async def apart() -> AsyncIterator[ControlPlane]:
    """A control plane for one test."""
    with ControlPlane() as plane:
        yield plane


async def ours(admin: Kube) -> list[str]:
    """Everything of numaplace that is there, but for its resource of reports."""
    return [
        f"{resource.plural}/{one['metadata']['name']}"
        for resource in _KINDS
        for one in await listed(admin, resource, "")
        if one["metadata"]["name"].startswith("numaplace")
    ]


@pytest.mark.timeout(240)
async def test_helm_installs_what_the_values_say_and_leaves_nobody_stuck(apart: ControlPlane) -> None:
    async with Kube(apart.admin()) as admin, Kubelet(apart, admin) as kubelet:
        await admin.create(NODES, plain_node("n1"))
        theirs = yaml.safe_load((CHART / "crds" / "noderesourcetopologies.yaml").read_text())
        theirs["metadata"]["labels"] = {"app.kubernetes.io/name": "node-feature-discovery"}
        before = await admin.create(CRDS, theirs)
        chart = (RELEASE, str(CHART), "--create-namespace", "--values", "-")
        said = await helm(apart, "install", *chart, "--wait", "--timeout", "120s", values=VALUES)
        assert "Kubernetes v1.37.2 (1.36 or newer is needed)" in said
        assert "a Pod of default-scheduler, second that has a placement key or asks gpu.example/card waits" in said
        assert "Exempt: exempt." in said
        await holds_for_other_names(admin)
        async with Kube(apart.access(PLANNER)) as planner:
            await binds_with_an_allocation(admin, planner)
        await admin.create(PODS, pod("waits", schedulingGates=[{"name": "other.example/first"}]), "default")
        await admin.create(PODS, pod("waits-too"), SPACE)
        arriving = asyncio.create_task(arrive(admin))
        await helm(apart, "uninstall", RELEASE)
        arriving.cancel()
        await asyncio.wait([arriving])
        pods = [one for space in ("default", SPACE) for one in await listed(admin, PODS, space)]
        left = {one["metadata"]["name"]: one["spec"].get("schedulingGates") for one in pods}
        assert left["waits"] == [{"name": "other.example/first"}]
        assert len(left) > 20
        assert not [name for name, waits_at in left.items() if GATE in (waits_at or [])]
        assert await ours(admin) == []
        assert sorted(await ends(kubelet)) == ["ended", "ended", "succeeded"]
        assert await gates(admin) == []
        after = await admin.get(CRDS, theirs["metadata"]["name"])
        assert [head(one) for one in (before, after)] == [(theirs["metadata"]["labels"], 1)] * 2


async def ends(kubelet: Kubelet) -> list[str]:
    """How the Pods ended, once all have."""
    async with asyncio.timeout(DEADLINE_S):
        while kubelet.running:
            await asyncio.sleep(0.05)
    return list({name: word for word, name in kubelet.story}.values())


def head(thing: bytes) -> tuple[dict[str, str], int]:
    """Labels, and how often the spec was written."""
    metadata = msgspec.json.decode(thing)["metadata"]
    return metadata["labels"], metadata["generation"]


async def holds_for_other_names(admin: Kube) -> None:
    """The policies are those of the values."""
    async with asyncio.timeout(DEADLINE_S):
        while not await gates(admin):
            await asyncio.sleep(0.1)
    await admin.create(NAMESPACES, {"metadata": {"name": "exempt"}})
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                assert await gates(admin, "exempt") == []
                break
            except DeniedError:  # its service account is not there yet
                await asyncio.sleep(0.05)
    copied = await tried(admin, pod("copied", annotations={keys.POLICY: "x", keys.ALLOCATION: "{}"}), "exempt")
    assert copied["metadata"]["annotations"] == {keys.POLICY: "x"}
    assert await gates(admin, schedulerName="second") == [GATE]
    assert await gates(admin, annotations={}, limits={"gpu.example/card": "1"}) == [GATE]
    assert await gates(admin, limits={"cpu": "1", "gpu.example/card": "1"}) == [GATE]
    assert await gates(admin, annotations={}, limits={"aliyun.com/gpu": "1"}) == []
    assert await gates(admin, annotations={}, limits={"rdma/hca": "1"}) == [GATE]
    shares = (container("log", {"cpu": "100m"}, restartPolicy="Always", image="none"),)
    assert await gates(admin, init=shares) == [GATE]
    assert (await tried(admin, pod("p"), "default"))["metadata"]["annotations"] == OURS  # no agent is required


async def binds_with_an_allocation(admin: Kube, planner: Kube) -> None:
    """As the extender does, which only this installation allows."""
    await admin.create(PODS, pod("free", annotations={}, schedulerName="nobody"), "default")
    await by_binding(planner, "default", keys.ALLOCATION)
    bound = msgspec.json.decode(await admin.get(PODS, "free", "default"))
    assert bound["spec"]["nodeName"] == "n1"
    assert keys.ALLOCATION in bound["metadata"]["annotations"]


async def arrive(admin: Kube) -> None:
    """New Pods all the time, as in a cluster that people work in."""
    number = 0
    while True:
        number += 1
        await admin.create(PODS, pod(f"new-{number}"), "default")
        await asyncio.sleep(0.1)

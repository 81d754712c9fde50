"""Situations that an operator knows, on the real control plane beside the stock scheduler."""

from typing import Any

import pytest

from numaplace.adapters.kube import DeniedError, Key, Kube, Resource, bind, merge
from numaplace.adapters.kube.resources import NODES, PODS, REPORTS
from numaplace.model import keys
from numaplace.model.settings import Settings
from tests.cluster.control_plane import SCHEDULER, ControlPlane
from tests.cluster.nodes import alike, described
from tests.cluster.planner_process import PlannerProcess
from tests.cluster.stage import SINGLE, Stage, gated, gone, is_bound
from tests.objects import container, sidecar
from tests.services.planner.reader import allocation_of, double_grants, pin_of, things_of

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
SMALL = "2pkg 2numa 32cpu 4gpu"
EXCLUSIVE_HCAS = Settings(hcas_exclusive=True)


def nodes(*machines: str) -> str:
    """A nodes file with a node a, b, … of each machine, each with its name as the label `kind`."""
    lines = [
        f"- {{name: {chr(97 + i)}, machine: {machine}, "
        f"labels: {{ack.node.gpu.schedule: topology, kind: {chr(97 + i)}}}}}"
        for i, machine in enumerate(machines)
    ]
    return "\n".join(["nodes:", *lines])


def with_hca(name: str, *, hcas: int = 1, gpus: int = 1, kind: str = "", level: str = "") -> dict[str, Any]:
    """A Pod with GPUs and HCAs, on a node of this kind, with a condition on their level."""
    annotations = {**SINGLE, **({keys.GPU_HCA: level} if level else {})}
    more = {"nodeSelector": {"kind": kind}} if kind else {}
    pod = gated(name, gpus=gpus, cpus=2, annotations=annotations, hostNetwork=True, **more)
    resources = pod["spec"]["containers"][0]["resources"]
    limits = {**resources["limits"], "rdma/hca": str(hcas)}
    if not gpus:
        del limits["aliyun.com/gpu"]
    resources |= {"limits": limits, "requests": limits}
    return pod


def hcas_of(pod: dict[str, Any]) -> list[str]:
    return [hca["name"] for share in allocation_of(pod)["containers"].values() for hca in share.get("hcas", ())]


def named(pods: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {pod["metadata"]["name"]: pod for pod in pods}


# --- GPUs and HCAs


@pytest.mark.usefixtures("planner")
async def test_a_gpu_gets_the_hca_that_is_as_near_as_was_asked(stage: Stage) -> None:
    await stage.nodes(described(nodes("2pkg 2numa 32cpu 4gpu 4hca phb", "2pkg 2numa 32cpu 4gpu 4hca pix")))
    await stage.add(
        with_hca("nearest", level="PIX"),
        with_hca("near", kind="a", level="PHB"),
        with_hca("both", gpus=2, kind="b"),
        with_hca("too-near", kind="a", level="PIX"),
    )
    pods = named(await stage.until_bound("nearest", "near", "both"))
    reached = {name: allocation_of(pods[name])["reached"].get("gpu-hca") for name in ("nearest", "near", "both")}
    assert reached == {"nearest": "PIX", "near": "PHB", "both": "PIX"}
    assert pods["nearest"]["spec"]["nodeName"] == "b"
    assert (len(hcas_of(pods["nearest"])), len(hcas_of(pods["both"]))) == (1, 2)
    assert (await stage.until_refused("too-near")).startswith("NOT_ALIGNABLE")


async def test_an_exclusive_hca_has_one_owner(plane: ControlPlane, stage: Stage) -> None:
    await stage.nodes(described(nodes("2pkg 2numa 32cpu 4gpu 4hca pix"), EXCLUSIVE_HCAS), EXCLUSIVE_HCAS)
    with PlannerProcess(plane, "planner", "--hcas", "exclusive"):
        await stage.add(with_hca("one"), with_hca("two", hcas=2, gpus=0), with_hca("three"))
        pods = named(await stage.until_bound("one", "two", "three"))
        owned = [hca for name in ("one", "two", "three") for hca in hcas_of(pods[name])]
        assert sorted(owned) == [f"mlx5_{i}" for i in range(4)]
        await stage.add(with_hca("four"))
        await stage.until_refused("four", "HCAS_SHORT")


# --- what else a Pod may ask


@pytest.mark.usefixtures("planner")
async def test_hugepages_come_from_one_numa_and_run_out_there(stage: Stage) -> None:
    await stage.nodes(described(nodes("2pkg 2numa 32cpu 64GiB 2048x2MiB")))  # 4 GiB of pages in each
    for name in ("p", "q", "r"):
        pod = gated(name, cpus=2)
        limits = {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "3Gi"}
        pod["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": limits}
        await stage.add(pod)
    pods = named(await stage.until_bound("p", "q"))
    charges = [charge for name in ("p", "q") for charge in allocation_of(pods[name])["charges"]]
    assert sorted((charge["numa"], charge["hugepages"]) for charge in charges) == [
        (0, {"2Mi": 1536}),
        (1, {"2Mi": 1536}),
    ]
    said = await stage.until_refused("r", "HUGEPAGES_SHORT")
    assert "1,536 hugepages of 2Mi" in said


@pytest.mark.usefixtures("planner")
async def test_sidecars_have_cpus_of_their_own_and_init_containers_those_of_the_pod(stage: Stage) -> None:
    await stage.nodes(described(nodes(SMALL)))
    first = container("fetch", {"cpu": "6", "aliyun.com/gpu": "1"}, image="none")
    helper = sidecar("proxy", {"cpu": "1"}) | {"image": "none"}
    await stage.add(gated("p", gpus=2, cpus=4, initContainers=[first, helper]))
    (pod,) = await stage.until_bound("p")
    shares = allocation_of(pod)["containers"]
    cpus = {name: set(_numbers(share["cpus"])) for name, share in shares.items()}
    assert len(cpus["main"]) == 4
    assert len(cpus["proxy"]) == 1
    assert not cpus["main"] & cpus["proxy"]
    assert cpus["fetch"] == cpus["main"]
    assert shares["fetch"]["gpus"] == shares["main"]["gpus"][:1]
    assert len(things_of(pod)) == 4 + 1 + 2


def _numbers(ranges: str) -> list[int]:
    numbers: list[int] = []
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        numbers += range(int(low), int(high or low) + 1)
    return numbers


# --- neighbours


@pytest.mark.usefixtures("planner")
@pytest.mark.parametrize("first", ["wide", "single"])
async def test_required_minds_the_neighbours_and_preferred_does_not(stage: Stage, first: str) -> None:
    await stage.nodes(described(nodes("2pkg 2numa 32cpu 8gpu")))
    wide = {"cpuset-scheduler": "required", keys.POLICY: "Restricted"}

    def pod(name: str, exclusive: str) -> dict[str, Any]:
        single = name.startswith("single")
        annotations = {**(SINGLE if single else wide), keys.EXCLUSIVE: exclusive}
        return gated(name, gpus=1 if single else 5, cpus=2 if single else 6, annotations=annotations)

    there = [pod("wide", "Required")] if first == "wide" else [pod("single-a", "Required")]
    await stage.add(*there)
    await stage.until_bound(*(one["metadata"]["name"] for one in there))
    then = "single" if first == "wide" else "wide"
    await stage.add(pod(f"{then}-minds", "Required"))
    said = await stage.until_refused(f"{then}-minds", "NUMA_EXCLUSIVE")
    assert "Preferred would allow it" in said
    await stage.add(pod(f"{then}-does-not", "Preferred"))
    pods = named(await stage.until_bound(f"{then}-does-not"))
    assert allocation_of(pods[f"{then}-does-not"])["reached"]["width"] == (1 if then == "single" else 2)


@pytest.mark.usefixtures("planner")
async def test_a_pod_of_another_scheduler_takes_its_part_of_the_pool(admin: Kube, stage: Stage) -> None:
    await stage.nodes(described(nodes(SMALL)))
    limits = {"cpu": "26", "aliyun.com/gpu": "3"}
    foreign = gated("foreign", annotations={}, schedulerName="another")
    foreign["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": limits}
    await stage.add(foreign)
    assert not (await stage.pod("foreign"))["spec"].get("schedulingGates")
    uid = (await stage.pod("foreign"))["metadata"]["uid"]
    await bind(admin, Key(stage.space, "foreign"), uid=uid, node="a", annotations={})  # what its scheduler does
    await stage.until_bound("foreign")
    await stage.in_use("a", [uid])
    await stage.add(gated("many-cpus", gpus=0, cpus=8, annotations=SINGLE), gated("two-cards", gpus=2, cpus=2))
    await stage.until_refused("many-cpus", "CPUS_SHORT")
    await stage.until_refused("two-cards", "GPUS_SHORT")
    await stage.add(gated("fits", gpus=1, cpus=4))
    await stage.until_bound("fits")
    await gone(admin, PODS, Key(stage.space, "foreign"), grace_s=0)
    await stage.in_use("a", [])
    await stage.until_bound("many-cpus", "two-cards")


# --- nodes that change under a plan


async def deployed(admin: Kube, stage: Stage, replicas: int) -> Key:
    """A Deployment of Pods of ours; its Pods are made again when they go."""
    template = gated("")
    template["metadata"] = {"annotations": template["metadata"]["annotations"], "labels": {"app": "train"}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "train"}}, "template": template}
    await admin.create(DEPLOYMENTS, {"metadata": {"name": "train"}, "spec": spec}, stage.space)
    return Key(stage.space, "train")


@pytest.mark.usefixtures("planner")
@pytest.mark.parametrize("change", ["cordon", "delete"])
async def test_pods_on_their_way_to_a_node_that_closes_find_another(
    plane: ControlPlane, admin: Kube, stage: Stage, change: str
) -> None:
    """The plans are made and the gates gone, but the scheduler has bound nothing yet."""
    await stage.nodes(alike(2))
    plane.kill(SCHEDULER)
    deployment = await deployed(admin, stage, 3)
    try:
        pods = await stage.until(lambda pods: [bool(pin_of(pod)) for pod in pods] == [True] * 3)
        assert {pin_of(pod) for pod in pods} == {"node-0001"}
        if change == "cordon":
            await stage.change_node("node-0001", {"spec": {"unschedulable": True}})
        else:
            await gone(admin, REPORTS, Key("", "node-0001"))
            await gone(admin, NODES, Key("", "node-0001"))
        await plane.start(SCHEDULER)
        pods = await stage.until(lambda pods: sum(map(is_bound, pods)) == 3)
    finally:
        await gone(admin, DEPLOYMENTS, deployment)
    assert {pod["spec"]["nodeName"] for pod in pods if is_bound(pod)} == {"node-0002"}
    assert double_grants(pods) == []


@pytest.mark.usefixtures("planner")
async def test_a_node_that_comes_back_under_its_name_is_free_again(admin: Kube, stage: Stage) -> None:
    await stage.nodes(alike(1))
    await stage.add(gated("a", gpus=4, cpus=24), gated("b", gpus=4, cpus=24))
    await stage.until_bound("a", "b")
    await stage.add(gated("late", gpus=4, cpus=24))
    await stage.until_refused("late", "GPUS_SHORT")
    await gone(admin, REPORTS, Key("", "node-0001"))
    await gone(admin, NODES, Key("", "node-0001"))
    for name in ("a", "b"):  # as the garbage collector does with Pods of a node that is gone
        await gone(admin, PODS, Key(stage.space, name), grace_s=0)
    await stage.until_refused("late", "NODE_RULE")
    await stage.nodes(alike(1))
    await stage.until_bound("late")


# --- after binding


async def test_edits_after_binding_give_nothing_away(plane: ControlPlane, admin: Kube, stage: Stage) -> None:
    await stage.nodes(described(nodes(SMALL)))
    planner = PlannerProcess(plane)
    with planner:
        await stage.add(*(gated(f"p{i}", gpus=1, cpus=4) for i in range(4)))
        pods = await stage.until_bound(*(f"p{i}" for i in range(4)))
        given = {name: allocation_of(pod) for name, pod in named(pods).items()}
        for text in ("{}", None):
            forged = {"metadata": {"annotations": {keys.ALLOCATION: text}}}
            with pytest.raises(DeniedError, match="only the planner says what a Pod gets"):
                await admin.patch(PODS, "p0", merge(forged), stage.space)
        weaker = {"metadata": {"annotations": {keys.POLICY: "BestEffort", "cpuset-scheduler": None}}}
        await admin.patch(PODS, "p1", merge(weaker), stage.space)
        await stage.add(gated("late", gpus=1, cpus=4))
        await stage.until_refused("late", "GPUS_SHORT")
        planner.kill()
        planner.start()
        await stage.add(gated("later", gpus=1, cpus=4))
        await stage.until_refused("later", "GPUS_SHORT")
        holders = {one["pod"].partition("/")[2]: one for one in planner.state()["nodes"]["a"]["holders"]}
    assert {name: allocation_of(pod) for name, pod in named(await stage.pods()).items() if name in given} == given
    assert {name: one["cpus"] for name, one in holders.items()} == {
        name: allocation["containers"]["main"]["cpus"] for name, allocation in given.items()
    }

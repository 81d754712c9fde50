"""What the cluster decided, the simulator decides on paper: the same Pods, the same order, the same allocations.

NUMAPLACE_EQUIVALENCE_SEEDS is how many lists of Pods are tried, NUMAPLACE_EQUIVALENCE_SEED the first of them.
"""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numaplace.adapters.kube import Key
from numaplace.adapters.kube.resources import CLAIMS, PODS, VOLUMES
from numaplace.model import keys
from numaplace.model.keys import HOSTNAME
from numaplace.model.settings import Settings
from numaplace.tools.report.outcome import Outcome
from numaplace.tools.sim.arrivals import intake_of, pods_of
from numaplace.tools.sim.cluster import cluster_of
from numaplace.tools.sim.contenders import contender
from numaplace.tools.sim.play import play
from numaplace.wire.allocation import decode, encode
from numaplace.wire.manifests import decode_manifests
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import Rule, grant
from tests.cluster.nodes import described
from tests.cluster.planner_process import PLANNER, PlannerProcess
from tests.cluster.programs import free_ports
from tests.cluster.random_pods import CLASSES, NODES, random_pods
from tests.cluster.scheduler_process import ASKING, SchedulerProcess, configuration
from tests.cluster.stage import DEADLINE_S, GATE, Stage, gated, gone, is_bound, listed, refusal
from tests.services.planner.reader import allocation_of, misplaced
from tests.tools.live.console import same_place, say

SEEDS = int(os.environ.get("NUMAPLACE_EQUIVALENCE_SEEDS", "3"))
FIRST_SEED = int(os.environ.get("NUMAPLACE_EQUIVALENCE_SEED", "1"))
AT_ONCE, ONE_BY_ONE = 30, 20


pytestmark = pytest.mark.usefixtures("classes")


def decided(pods: list[dict[str, Any]]) -> bool:
    return all(is_bound(pod) or refusal(pod) for pod in pods)


def real_answers(pods: list[dict[str, Any]]) -> dict[str, str]:
    """By Pod the allocation's text without its time, or the code of the refusal."""
    answers = {}
    for pod in pods:
        text = (pod["metadata"].get("annotations") or {}).get(keys.ALLOCATION)
        name = pod["metadata"]["name"]
        if text is None:
            answers[name] = refusal(pod).partition(":")[0]
        else:
            answers[name] = encode(replace(decode(text, name), planned_s=None))
    return answers


def paper_answers(outcome: Outcome) -> dict[str, str]:
    answers = {one.request.name: encode(one.allocation) for one in outcome.landings if one.allocation is not None}
    return answers | {one.request.name: one.refusal.code for one in outcome.unplaced if one.request is not None}


def on_paper(pods: list[dict[str, Any]], settings: Settings, *, one_by_one: bool = False) -> dict[str, str]:
    """What `simulate` says of these Pods, all at once or one after the other."""
    classes = [{"kind": "PriorityClass", "metadata": {"name": name}, "value": value} for name, value in CLASSES.items()]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*classes, *pods]})
    nodes = described(NODES, settings)
    read = pods_of(decode_manifests(text, "pods.json").workloads, nodes, settings)
    times = [(pod, float(number) if one_by_one else 0.0, None) for number, pod in enumerate(read)]
    intake = intake_of(times, settings)
    assert intake.invalid == ()
    return paper_answers(play(intake.arrivals, contender("numaplace", cluster_of(nodes), settings, seed=0)))


async def capture(plane: ControlPlane, folder: Path, *options: str) -> str:
    """The cluster captured as an administrator does it."""
    file, config = str(folder / "cluster.json.gz"), str(plane.kubeconfig("admin", "system:masters"))
    said = await say("capture", "cluster", "-o", file, "--kubeconfig", config, *options)
    assert said.status == 0, said.err
    return file


async def replayed(plane: ControlPlane, folder: Path, *options: str) -> dict[str, Any]:
    """The cluster as it is, decided again on paper."""
    file = await capture(plane, folder, *options)
    document = (await say("simulate", "--nodes", file, "--pods", file, "--replay", "-o", "json", *options)).document
    found: dict[str, Any] = document["replayed"]
    return found


@pytest.mark.parametrize("hcas", ["shared", "exclusive"])
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
async def test_pods_that_waited_for_the_planner_are_decided_as_on_paper(
    plane: ControlPlane, stage: Stage, tmp_path: Path, seed: int, hcas: str
) -> None:
    settings = Settings(hcas_exclusive=hcas == "exclusive")
    pods = random_pods(seed, AT_ONCE, stage.space)
    await stage.nodes(described(NODES, settings), settings)
    for pod in pods:  # in the order of their names, so that name decides as age does
        await stage.admin.create(PODS, msgspec.json.decode(json.dumps(pod)), stage.space)
    with PlannerProcess(plane, "planner", "--hcas", hcas):
        real = await stage.until(decided)
    answers = real_answers(real)
    assert answers == on_paper(pods, settings)
    assert misplaced(real) == []
    given = [name for name, answer in answers.items() if answer.startswith("{")]
    assert len(given) >= AT_ONCE // 3
    assert await replayed(plane, tmp_path, "--hcas", hcas) == {"recorded": len(given), "differing": []}


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
async def test_pods_that_come_one_by_one_are_decided_as_on_paper(
    plane: ControlPlane, stage: Stage, tmp_path: Path, seed: int
) -> None:
    pods = random_pods(1000 + seed, ONE_BY_ONE, stage.space)
    await stage.nodes(described(NODES))
    with PlannerProcess(plane):
        for pod in pods:
            await stage.admin.create(PODS, msgspec.json.decode(json.dumps(pod)), stage.space)
            real = await stage.until(decided)
    answers = real_answers(real)
    assert answers == on_paper(pods, Settings(), one_by_one=True)
    given = [name for name, answer in answers.items() if answer.startswith("{")]
    assert await replayed(plane, tmp_path) == {"recorded": len(given), "differing": []}


@pytest.mark.parametrize("pins", [(), ("--extender-pins",)], ids=["hint", "pin"])
async def test_with_the_extender_the_answers_are_the_same(
    plane: ControlPlane, stage: Stage, tmp_path: Path, pins: tuple[str, ...]
) -> None:
    """The scheduler asks the planner about every Pod with cards, and binds through it."""
    (port,) = free_ports(1)
    await grant(stage.admin, PLANNER, [Rule("", ("pods/binding",), ("create",))])
    pods = random_pods(500 + FIRST_SEED, AT_ONCE, stage.space)
    await stage.nodes(described(NODES))
    for pod in pods:
        asking = {**pod["spec"], "schedulerName": ASKING, "schedulingGates": [GATE]}
        await stage.admin.create(PODS, {**pod, "spec": asking}, stage.space)
    face = ("--extender", f"127.0.0.1:{port}", "--extender-for", ASKING, *pins)
    with (
        SchedulerProcess(plane, configuration(f"http://127.0.0.1:{port}/v1")),
        PlannerProcess(plane, "planner", *face) as planner,
    ):
        real = await stage.until(decided)
        assert b'numaplace_extender_answers_total{answer="bound",verb="bind"}' in planner.page("/metrics")[1]
    answers = real_answers(real)
    assert answers == on_paper(pods, Settings())
    assert misplaced(real) == []
    given = [name for name, answer in answers.items() if answer.startswith("{")]
    assert await replayed(plane, tmp_path) == {"recorded": len(given), "differing": []}


async def test_what_a_capture_would_do_the_planner_then_does(plane: ControlPlane, stage: Stage, tmp_path: Path) -> None:
    """With Pods behind gates of others, and with claims: bound, missing, and for one Pod at a time."""
    volume = f"v-{stage.space}"
    await stage.nodes(described(NODES))
    await on_node(stage, volume, "paged-2")
    queued = gated("queued", gpus=2, cpus=4, priorityClassName="test-high", schedulingGates=[{"name": "example.com/q"}])
    await stage.add(queued, *(with_claim(name, name) for name in ("missing", "data")), with_claim("second", "data"))
    await stage.add(*random_pods(FIRST_SEED, AT_ONCE, stage.space))
    await stage.until(lambda pods: len(pods) == AT_ONCE + 4)
    file = await capture(plane, tmp_path)
    try:
        with PlannerProcess(plane):
            real = await stage.until(lambda pods: decided([pod for pod in pods if pod["metadata"]["name"] != "queued"]))
    finally:
        await gone(stage.admin, VOLUMES, Key("", volume))
    given = {f"{stage.space}/{pod['metadata']['name']}": allocation_of(pod) for pod in real if allocation_of(pod)}
    paper = (await say("simulate", "--nodes", file, "--pods", file, "-o", "json")).document
    landings = {one["pod"]: one for one in paper["pods"]}
    assert landings.keys() == given.keys()
    assert [name for name, place in given.items() if not same_place(landings[name], place)] == []
    assert landings[f"{stage.space}/data"]["node"] == "paged-2"
    refused = {f"{stage.space}/{pod['metadata']['name']}": refusal(pod).partition(":")[0] for pod in real}
    assert {one["pod"]: one["code"] for one in paper["unplaced"]} == {
        pod: code for pod, code in refused.items() if code
    }
    assert {refused[f"{stage.space}/{name}"] for name in ("missing", "second")} == {"NODE_RULE"}
    (note,) = (one for one in paper["notes"] if one.startswith("left out"))
    assert note.endswith(f"(example.com/q): {stage.space}/queued")
    assert await replayed(plane, tmp_path) == {"recorded": len(given), "differing": []}


def with_claim(name: str, claim: str) -> dict[str, Any]:
    return gated(name, gpus=1, cpus=2, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim}}])


async def on_node(stage: Stage, volume: str, node: str) -> None:
    """A claim `data` bound to a volume that only one node has."""
    here = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
    size, modes = {"requests": {"storage": "1Gi"}}, ["ReadWriteOncePod"]
    spec = {"accessModes": modes, "storageClassName": "", "volumeName": volume, "resources": size}
    await stage.admin.create(CLAIMS, {"metadata": {"name": "data"}, "spec": spec}, stage.space)
    made = {
        "capacity": {"storage": "1Gi"},
        "accessModes": modes,
        "hostPath": {"path": "/v"},
        "claimRef": {"namespace": stage.space, "name": "data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [here]}},
    }
    await stage.admin.create(VOLUMES, {"metadata": {"name": volume}, "spec": made})
    async with asyncio.timeout(DEADLINE_S):
        while not any((one.get("status") or {}).get("phase") == "Bound" for one in await claims(stage)):
            await asyncio.sleep(0.05)


async def claims(stage: Stage) -> list[dict[str, Any]]:
    return await listed(stage.admin, CLAIMS, stage.space)


async def test_a_run_without_names_is_replayed_alike(plane: ControlPlane, stage: Stage, tmp_path: Path) -> None:
    await stage.nodes(described(NODES))
    with PlannerProcess(plane):
        await stage.add(*random_pods(FIRST_SEED, AT_ONCE, stage.space))
        real = await stage.until(lambda pods: len(pods) == AT_ONCE and decided(pods))
    given = [pod for pod in real if keys.ALLOCATION in (pod["metadata"].get("annotations") or {})]
    file, config = str(tmp_path / "nameless.json"), str(plane.kubeconfig("admin", "system:masters"))
    said = await say("capture", "cluster", "--anonymise", "--ours", "-o", file, "--kubeconfig", config)
    assert said.status == 0, said.err
    assert stage.space not in Path(file).read_text()
    replay = (await say("simulate", "--nodes", file, "--pods", file, "--replay", "-o", "json")).document
    assert replay["replayed"] == {"recorded": len(given), "differing": []}

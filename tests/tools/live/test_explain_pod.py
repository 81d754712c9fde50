"""`numaplace explain pod` against an API server: every way in which a Pod may stand, told in sentences."""

from pathlib import Path
from typing import Any

import pytest

from numaplace.adapters.kube.fake import Answer
from numaplace.adapters.kube.resources import CLAIMS, NAMESPACES, VOLUMES
from numaplace.model import keys
from tests.services.planner.test_read_back import one_gpu, unschedulable
from tests.services.planner.world import World, gated, nodes_of, world_of
from tests.tools.live.console import kubeconfig, say


async def explained(world: World, folder: Path, name: str, *options: str) -> Any:
    said = await say(
        "explain", "pod", f"ns/{name}", "--kubeconfig", kubeconfig(world.server, folder), "-o", "json", *options
    )
    assert said.document["pod"] == f"ns/{name}"
    return said.document


async def test_a_waiting_pod_is_held_against_every_node(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.start()
        world.add(gated("p", gpus=3, cpus=2))
        await world.until_refused("p")
        told = world.refusal("p")
        said = await say("explain", "pod", "ns/p", "--kubeconfig", kubeconfig(world.server, tmp_path))
    lines = said.lines
    assert lines[:2] == ["Pod ns/p: waits for a place", told]
    assert "Pod ns/p asks 3 GPUs and 2 CPUs; SingleNUMANode, Required; CPUs of its own" in lines
    assert [line for line in lines if line.startswith("node ")] == ["node n1: NOT_ALIGNABLE", "node n2: NOT_ALIGNABLE"]
    assert lines.count("0 8 of 8 2 of 2 2 of 2 64Gi of 64Gi – 1 GPU short") == 2


async def test_a_placed_pod_says_where_and_why(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.start()
        limits = {"cpu": "4", "aliyun.com/gpu": "2", "rdma/hca": "1"}
        pod = gated("p", hostNetwork=True)
        pod["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": limits}
        world.add(pod)
        await world.until_bound("p")
        config = kubeconfig(world.server, tmp_path, namespace="ns")
        said = await say("explain", "pod", "p", "--kubeconfig", config)
        place = (await explained(world, tmp_path, "p"))["place"]
    assert said.lines[:4] == [
        "Pod ns/p: is on node n1",
        "NUMA node 0 of node n1; SingleNUMANode, width 1, at least 1 needed; farthest GPU from its nearest HCA: PIX",
        "CONTAINER CPUS GPUS HCAS",
        "main 0-1,8-9 13:00 4f:00 mlx5_0-1",
    ]
    assert any(line.startswith("0.83 × 3 gpu-hca ") for line in said.lines)
    assert (place["node"], place["width"], place["least_width"], place["gpu_hca"]) == ("n1", 1, 1, "PIX")
    assert {part["name"] for part in place["parts"]} >= {"distance", "fragmentation", "packing"}


async def test_gates_of_others_come_first(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("p", gates=("kueue.x-k8s.io/admission", keys.PLAN_GATE)))
        await world.quiet()
        told = await explained(world, tmp_path, "p")
    assert told["stand"] == "gated"
    assert told["sentences"][0] == "waits for gates of others: kueue.x-k8s.io/admission"
    assert told["explanation"]["nodes"][0]["fits"] is True


async def test_a_planner_that_says_nothing_is_noticed(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("p"))
        told = await explained(world, tmp_path, "p")
    assert (told["stand"], told["code"]) == ("waits", None)
    assert told["sentences"][1:] == [
        "the planner has not said anything about it yet",
        "by now a node would take it: unless it is bound soon, look whether the planner runs",
    ]


CLAIMING = [{"name": "data", "persistentVolumeClaim": {"claimName": "big"}}]


async def test_volumes_are_judged_where_they_may_be_seen(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.server.store.add(NAMESPACES, "", {"metadata": {"name": "ns"}})
        world.add(gated("p", volumes=CLAIMING))
        without = await explained(world, tmp_path, "p")
        claim = {"metadata": {"name": "big", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
        world.server.store.add(CLAIMS, "ns", {**claim, "spec": {"volumeName": "disk"}})
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
        world.server.store.add(VOLUMES, "", {"metadata": {"name": "disk"}, "spec": {"nodeAffinity": affinity}})
        with_it = await explained(world, tmp_path, "p")
        world.server.fail(Answer(403, "Forbidden"), "GET", "/persistentvolumeclaims")
        unseen = await explained(world, tmp_path, "p")
    assert {node.get("code") for node in without["explanation"]["nodes"]} == {"NODE_RULE"}
    assert [(node["node"], node.get("code")) for node in with_it["explanation"]["nodes"]] == [
        ("n2", None),
        ("n1", "NODE_RULE"),
    ]
    assert all(node["fits"] is True for node in unseen["explanation"]["nodes"])
    assert "its volumes could not be looked up, so the rules about them are left out below" in unseen["sentences"]


async def test_one_node_may_be_asked_for(tmp_path: Path) -> None:
    async with world_of(nodes_of(3)) as world:
        world.add(gated("p", gpus=3))
        told = await explained(world, tmp_path, "p", "--node", "n2")
    assert [node["node"] for node in told["explanation"]["nodes"]] == ["n2"]


async def test_what_nobody_can_give_is_told_as_at_the_gate(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("p", annotations={keys.POLICY: "Closest"}))
        told = await explained(world, tmp_path, "p")
    assert (told["stand"], told["code"]) == ("invalid", "SPEC_INVALID")
    assert "numaplace.dev/policy: found 'Closest'" in told["told"]


@pytest.mark.parametrize("node", ["", "n1"])
async def test_a_pod_that_is_not_ours_says_why(tmp_path: Path, node: str) -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("p", gpus=0, annotations={}, gates=()))
        if node:
            world.bind("p", node)
        told = await explained(world, tmp_path, "p")
    assert told["stand"] == "plain"
    assert told["sentences"][0] == ("is on node n1, not placed by numaplace" if node else "is not placed by numaplace")
    assert told["sentences"][1].startswith("it asks no policy, no CPUs of its own and no aliyun.com/gpu")


@pytest.mark.parametrize(
    ("more", "annotation", "why"),
    [
        ({}, {keys.GATE: "off"}, "it opted out: annotation numaplace.dev/gate is off"),
        ({"schedulerName": "volcano"}, {}, "its scheduler is volcano; only Pods of schedulers"),
        ({}, {}, "it has no gate numaplace.dev/plan: it was made before"),
    ],
)
@pytest.mark.parametrize("node", ["", "n1"])
async def test_a_pod_that_came_without_a_gate_says_why(
    tmp_path: Path, more: dict[str, Any], annotation: dict[str, str], why: str, node: str
) -> None:
    async with world_of(nodes_of()) as world:
        annotations = {keys.POLICY: "BestEffort", "cpuset-scheduler": "required", **annotation}
        world.add(gated("p", annotations=annotations, gates=(), **more))
        if node:
            world.bind("p", node)
        told = await explained(world, tmp_path, "p")
    assert told["stand"] == ("unchosen" if node else "let-go")
    assert told["sentences"][1].startswith(why)
    assert "1 GPU count as taken without a name" in told["sentences"][2]


async def test_a_pod_that_was_let_go_after_a_refusal_still_says_what_it_lacks(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        planner = world.start()
        world.add(gated("p", gpus=3))
        await world.until_refused("p")
        await world.kill(planner)
        world.change("p", lambda pod: pod["spec"].pop("schedulingGates"))
        told = await explained(world, tmp_path, "p")
        waiting = await say("status", "--waiting", "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert (told["stand"], told["code"]) == ("let-go", "NOT_ALIGNABLE")
    assert "was let go, by hand or because it waited too long" in told["sentences"][1]
    assert told["explanation"]["code"] == "NOT_ALIGNABLE"
    assert waiting.lines[1].startswith("ns/p ")


async def test_a_pod_on_its_way_names_what_the_scheduler_has_against_it(tmp_path: Path) -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        planner = world.start()
        world.add(gated("p"))
        await world.until(lambda: not world.pod("p")["spec"].get("schedulingGates"))
        await world.kill(planner)
        before = await explained(world, tmp_path, "p")
        world.change("p", unschedulable)
        world.change("p", lambda pod: pod["status"]["conditions"][0].update(message="0/1 nodes are available"))
        after = await explained(world, tmp_path, "p")
    assert before["stand"] == after["stand"] == "on-its-way"
    assert before["sentences"] == ["has its place on node n1 and waits for the scheduler to bind it"]
    assert after["sentences"][1] == "the scheduler does not take that node: 0/1 nodes are available"
    assert after["place"]["node"] == "n1"


async def test_a_pod_that_strayed_is_told_with_what_it_lost(tmp_path: Path) -> None:
    async with world_of(nodes_of(2), scheduling=False) as world:
        world.add_on_its_way("p", one_gpu(), pin="n1")
        world.bind("p", "n2")
        told = await explained(world, tmp_path, "p")
    assert told["stand"] == "astray"
    assert told["sentences"][:2] == [
        "is on node n2, but was planned for node n1",
        "on node n2 its CPUs float over the whole node, and 1 GPU count as taken without a name",
    ]


async def test_two_pods_with_one_card_are_told_of_each_other(tmp_path: Path) -> None:
    topology = nodes_of()[0].topology
    assert topology is not None
    card = topology.gpus[0].pci
    async with world_of(nodes_of()) as world:
        for name in ("first", "second"):
            world.add_on_its_way(name, one_gpu(card), pin="n1")
            world.bind(name, "n1")
        first, second = [await explained(world, tmp_path, name) for name in ("first", "second")]
    assert first["stand"] == "placed"
    assert second["stand"] == "clashes"
    assert second["sentences"][1] == "CPUs 0, 8 of node n1 already belong to Pod ns/first"


async def test_a_pod_that_ended_still_holds_what_its_node_lists(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("p"))
        await world.until_bound("p")
        world.uses("n1", "p")
        world.change("p", lambda pod: pod["status"].update(phase="Succeeded"))
        before = await explained(world, tmp_path, "p")
        world.uses("n1")
        after = await explained(world, tmp_path, "p")
    assert before["sentences"] == ["has ended; node n1 has not said yet that its CPUs and cards are free"]
    assert after["sentences"] == ["has ended and holds nothing"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ns/wolker",), "numaplace: Pod ns/wolker: found no such Pod; expected worker\n"),
        (("worker",), "numaplace: Pod default/worker: found no such Pod; expected the name of one that is there\n"),
        (("ns/worker", "-n", "other"), "numaplace: --namespace: found 'other'; expected ns, or no namespace before"),
        (("a/b/c",), "numaplace: the Pod: found 'a/b/c'; expected NAMESPACE/NAME, or NAME with --namespace\n"),
        (("ns/worker", "--node", "n7"), "numaplace: --node: found 'n7'; expected a node of the cluster\n"),
    ],
)
async def test_a_pod_that_is_not_there_is_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("worker"))
        said = await say("explain", "pod", *arguments, "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(sentence)


@pytest.mark.parametrize("arguments", [("pod/p", "-n", "ns"), ("p", "-n", "ns"), ("ns/p", "-n", "ns"), ("ns/p",)])
async def test_a_pod_may_be_named_as_kubectl_names_it(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("p"))
        said = await say("explain", "pod", *arguments, "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert said.lines[0] == "Pod ns/p: waits for a place"

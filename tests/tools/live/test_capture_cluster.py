"""`numaplace capture cluster`: what it holds, and that the cluster on paper answers as the one that ran."""

import asyncio
import gzip
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from numaplace.adapters.kube import Key
from numaplace.adapters.kube.fake import Stall
from numaplace.adapters.kube.resources import CLAIMS, NAMESPACES, PODS, VOLUMES
from numaplace.model import keys
from numaplace.model.words import counted
from numaplace.tools.live.spool import spooled
from tests.objects import sidecar
from tests.services.planner.reader import allocation_of
from tests.services.planner.world import CALM_TIMES, World, gated, nodes_of, world_of
from tests.tools.live.console import BIN, kubeconfig, same_place, say

POLICIES = ("SingleNUMANode", "Restricted", "BestEffort")
SECRET = "s3cr3t"


def mixed() -> list[dict[str, Any]]:
    """Pods of every kind, more than two small nodes can hold."""
    pods = []
    for number, policy in enumerate(POLICIES * 3):
        annotations = {"cpuset-scheduler": "required", keys.POLICY: policy, keys.EXCLUSIVE: "Preferred"}
        pods.append(gated(f"p{number}", gpus=number % 3, cpus=1 + number, annotations=annotations, priority=number % 2))
    pods.append(gated("shared", gpus=0, cpus=2, annotations={keys.POLICY: "SingleNUMANode"}))
    pods.append(gated("cards", gpus=1, cpus=1, annotations={}))
    pods.append(gated("helped", gpus=0, initContainers=[sidecar("proxy", {"cpu": "1"})]))
    pods.append(gated("wide", gpus=5, cpus=2))
    for pod in pods:
        container = pod["spec"]["containers"][0]
        container |= {"image": "registry/app:1", "env": [{"name": "TOKEN", "value": SECRET}], "args": [SECRET]}
        pod["metadata"]["labels"] = {"team": "blue", "app.kubernetes.io/name": "train"}
        pod["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = SECRET
    return pods


async def settled(world: World) -> None:
    """Everybody is bound or has been refused."""
    names = [pod["metadata"]["name"] for pod in world.pods]
    await world.until(lambda: all(world.pod(one)["spec"].get("nodeName") or world.refusal(one) for one in names))


async def captured(world: World, folder: Path, *options: str, name: str = "cluster.json", nodes: int = 2) -> Path:
    path = folder / name
    said = await say("capture", "cluster", "-o", str(path), "--kubeconfig", kubeconfig(world.server, folder), *options)
    assert said.status == 0, said.err
    assert (
        said.out
        == f"{path}: {counted(nodes, 'node')}, {counted(nodes, 'report')} and {counted(len(world.pods), 'Pod')}\n"
    )
    return path


async def simulated(capture: Path, *options: str) -> Any:
    path = str(capture)
    return (await say("simulate", "--nodes", path, "--pods", path, "-o", "json", *options)).document


def places(world: World) -> dict[str, Any]:
    """What each Pod was given, by the API objects alone."""
    return {f"ns/{pod['metadata']['name']}": allocation_of(pod) for pod in world.pods if allocation_of(pod)}


@pytest.mark.parametrize("name", ["cluster.json", "cluster.json.gz"])
async def test_a_replay_gives_every_pod_what_the_planner_gave_it(tmp_path: Path, name: str) -> None:
    async with world_of(nodes_of(2, reserved="0")) as world:
        world.start(times=CALM_TIMES)
        for pod in mixed():  # one after the other, each decided before the next is there
            world.add(pod)
            await settled(world)
        given = places(world)
        capture = await captured(world, tmp_path, name=name)
    replay = await simulated(capture, "--replay")
    assert len(given) >= 8
    assert replay["replayed"] == {"recorded": len(given), "differing": []}
    landings = {one["pod"]: one for one in replay["pods"]}
    assert landings.keys() == given.keys()
    assert all(same_place(landings[pod], allocation) for pod, allocation in given.items())
    table = await say("simulate", "--nodes", str(capture), "--pods", str(capture), "--replay")
    assert f"replayed {len(given)} of {len(given)} Pods as recorded" in table.lines


async def test_pods_that_came_at_once_are_replayed_in_the_order_of_decisions(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.add(*reversed(mixed()))
        world.start(times=CALM_TIMES)
        await settled(world)
        given = places(world)
        capture = await captured(world, tmp_path)
    assert (await simulated(capture, "--replay"))["replayed"] == {"recorded": len(given), "differing": []}


async def test_without_replay_pods_keep_what_they_have_and_those_that_wait_are_tried(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.start(times=CALM_TIMES)
        world.add(*mixed())
        await settled(world)
        given, waiting = places(world), [pod for pod in world.pods if not allocation_of(pod)]
        capture = await captured(world, tmp_path)
    document = await simulated(capture)
    landings = {one["pod"]: one for one in document["pods"]}
    assert all(same_place(landings[pod], allocation) for pod, allocation in given.items())
    assert {one["pod"] for one in document["unplaced"]} == {f"ns/{pod['metadata']['name']}" for pod in waiting}
    assert document["replayed"] is None


async def test_what_the_planner_would_not_plan_now_is_left_out_and_named(tmp_path: Path) -> None:
    async with world_of(nodes_of(1)) as world:
        first = gated("first", gpus=2, cpus=2, gates=(keys.PLAN_GATE, "example.com/quota"), priority=9)
        alone = gated("alone", gpus=2, cpus=2, gates=("example.com/turn",), priority=9)
        world.add(first, alone, gated("p", gpus=2, cpus=2))
        capture = await captured(world, tmp_path, name="before.json", nodes=1)
        world.start(times=CALM_TIMES)
        await world.until_bound("p")
        given = places(world)
    document = await simulated(capture)
    assert {one["pod"] for one in document["pods"]} == given.keys() == {"ns/p"}
    assert same_place(document["pods"][0], given["ns/p"])
    assert document["unplaced"] == []
    left_out = "left out, since a Pod is planned only when gates of others are gone"
    assert f"{left_out} (example.com/quota, example.com/turn): ns/alone, ns/first" in document["notes"]


async def test_pods_on_their_way_keep_what_they_were_promised(tmp_path: Path) -> None:
    async with world_of(nodes_of(2), scheduling=False) as world:
        planner = world.start(times=CALM_TIMES)
        world.add(gated("p", gpus=2, cpus=2))
        await world.until(lambda: bool(allocation_of(world.pod("p"))))
        await world.kill(planner)
        given = places(world)
        world.add(gated("urgent", gpus=2, cpus=2, priority=9, gates=(keys.PLAN_GATE,)))
        capture = await captured(world, tmp_path)
    document = await simulated(capture)
    landings = {one["pod"]: one for one in document["pods"]}
    assert same_place(landings["ns/p"], given["ns/p"])
    assert not any("written one is ignored" in note for note in document["notes"])
    assert (await simulated(capture, "--replay"))["replayed"] == {"recorded": len(given), "differing": []}


async def test_volumes_are_judged_where_the_capture_tells_of_them_and_else_it_says_so(tmp_path: Path) -> None:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}]}]
    async with world_of(nodes_of(2)) as world:
        store = world.server.store
        store.add(NAMESPACES, "", {"metadata": {"name": "ns"}})
        store.add(VOLUMES, "", {"metadata": {"name": "v"}, "spec": {"nodeAffinity": {"required": _terms(terms)}}})
        bound = {"name": "data", "namespace": "ns", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        store.add(CLAIMS, "ns", {"metadata": bound, "spec": {"volumeName": "v"}})
        world.add(with_claim("here", "data"), with_claim("nowhere", "gone"))
        capture = await captured(world, tmp_path, name="before.json")
        world.start(times=CALM_TIMES)
        await settled(world)
        given, told = places(world), world.refusal("nowhere")
    document = await simulated(capture)
    assert [one["pod"] for one in document["pods"]] == [*given] == ["ns/here"]
    assert same_place(document["pods"][0], given["ns/here"])
    assert (document["pods"][0]["node"], document["notes"]) == ("n2", [])
    (waits,) = document["unplaced"]
    assert told == f"{waits['code']}: {waits['sentence']}"
    assert "claim gone does not exist" in told

    blind = tmp_path / "blind.json"
    items = [one for one in json.loads(capture.read_text())["items"] if one["kind"] != "Namespace"]
    blind.write_text(json.dumps({"kind": "List", "items": items}))
    document = await simulated(blind)
    assert len(document["pods"]) == 2
    note = "volumes are not judged, since the nodes' files hold no namespaces, claims and volumes: ns/here, ns/nowhere"
    assert document["notes"] == [note]
    pod = tmp_path / "pod.json"
    pod.write_text(json.dumps(with_claim("new", "data")))
    for file, said in ((capture, "claim data"), (blind, f"note: {note.partition(':')[0]}: ns/new")):
        assert said in (await say("explain", str(pod), "--nodes", str(file))).out


def _terms(terms: list[dict[str, Any]]) -> dict[str, Any]:
    return {"nodeSelectorTerms": terms}


def with_claim(name: str, claim: str) -> dict[str, Any]:
    return gated(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim}}])


async def test_a_capture_without_names_holds_none_and_is_placed_alike(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.start(times=CALM_TIMES)
        world.change_node("n1", lambda node: node["metadata"]["labels"].update({"team": "blue", "disk": "17"}))
        picky = gated(
            "picky", nodeSelector={"team": "blue"}, tolerations=[{"key": "secret-taint", "operator": "Exists"}]
        )
        world.add(*mixed(), picky)
        await settled(world)
        given = places(world)
        capture = await captured(world, tmp_path)
        nameless = await captured(world, tmp_path, "--anonymise", name="nameless.json")
    text = nameless.read_text()
    for name in (
        "picky",
        "helped",
        "proxy",
        "blue",
        "team",
        "secret-taint",
        '"n1"',
        '"ns"',
        world.pod("picky")["metadata"]["uid"],
    ):
        assert name in capture.read_text() or name == '"ns"'
        assert name not in text
    replay = await simulated(nameless, "--replay")
    assert replay["replayed"] == {"recorded": len(given), "differing": []}
    waiting = await say("status", "--capture", str(nameless), "--waiting")
    assert "namespace-1/pod-" in waiting.out


async def test_what_a_placement_does_not_need_is_not_in_it(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.add(*mixed())
        capture = await captured(world, tmp_path)
    text = capture.read_text()
    for noise in (SECRET, "registry/app", "managedFields", "resourceVersion", "zones", "last-applied"):
        assert noise not in text
    assert '":null' not in text.replace('\\"', "")  # the topology document inside a text has its own nulls
    kinds = [json.loads(line.rstrip(","))["kind"] for line in text.splitlines()[1:-1]]
    assert kinds == ["Node"] * 2 + ["NodeResourceTopology"] * 2 + ["Pod"] * len(mixed())


async def test_pods_stand_from_the_oldest_to_the_youngest(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        for name, second in (("a", 30), ("b", 10), ("c", 10), ("d", 20)):
            world.add(gated(name))
            pod = world.server.store.objects[PODS][Key("ns", name)]
            pod["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{second}Z"
        capture = await captured(world, tmp_path)
    items = json.loads(capture.read_text())["items"]
    assert [one["metadata"]["name"] for one in items if one["kind"] == "Pod"] == ["b", "c", "d", "a"]


async def test_only_what_is_ours_may_be_asked_for(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.change_node("n2", lambda node: node["metadata"].update(labels={}))
        for name, node in (("beside", "n1"), ("elsewhere", "n2")):
            world.add(gated(name, gpus=0, annotations={}, gates=()))
            world.bind(name, node)
        world.add(gated("asks"), gated("plain", gpus=0, annotations={}, gates=()))
        path = tmp_path / "ours.json.gz"
        said = await say(
            "capture", "cluster", "-o", str(path), "--ours", "--kubeconfig", kubeconfig(world.server, tmp_path)
        )
    assert said.out == f"{path}: 1 node, 1 report and 2 Pods\n"
    names = [one["metadata"]["name"] for one in json.loads(gzip.decompress(path.read_bytes()))["items"]]
    assert names == ["n1", "n1", "asks", "beside"]


async def test_status_and_explain_read_a_capture_as_they_read_the_cluster(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.start(times=CALM_TIMES)
        world.add(*mixed())
        await settled(world)
        config = kubeconfig(world.server, tmp_path)
        capture = await captured(world, tmp_path)
        for command in (
            ("status", "-o", "json"),
            ("explain", "pod", "ns/wide", "-o", "json"),
            ("explain", "pod", "ns/p1"),
        ):
            live = await say(*command, "--kubeconfig", config)
            kept = await say(*command, "--capture", str(capture))
            assert without_time(live.out) == without_time(kept.out), kept.err


def without_time(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if '"at_s"' not in line)


async def test_standard_output_holds_the_capture_alone(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        said = await say("capture", "cluster", "-o", "-", "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert [one["kind"] for one in said.document["items"]] == ["Node", "Node"] + 2 * ["NodeResourceTopology"]
    assert said.err.splitlines()[0] == "-: 2 nodes, 2 reports and 0 Pods"


@pytest.mark.parametrize("command", [("status",), ("explain", "pod", "ns/p")])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "found no Node; expected what numaplace capture cluster writes"),
        ("not: [json", "expected"),
        ('{"kind":"List","metadata":{"annotations":{"numaplace.dev/captured":"noon"}},"items":[]}', "found 'noon'"),
        ('{"kind":"List","items":[{"kind":"Node"}]}', "item 1"),
    ],
)
async def test_a_file_that_is_no_capture_is_one_sentence(
    tmp_path: Path, command: tuple[str, ...], text: str, sentence: str
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text)
    said = await say(*command, "--capture", str(path))
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"numaplace: {path}")
    assert sentence in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_a_capture_that_is_interrupted_leaves_nothing(tmp_path: Path, end: signal.Signals) -> None:
    target = tmp_path / "out" / "cluster.json"
    target.parent.mkdir()
    target.write_text("the one before")
    async with world_of(nodes_of(2)) as world:
        world.add(gated("p"))
        config = kubeconfig(world.server, tmp_path)
        world.server.fail(Stall(), path=PODS.path())
        process = await asyncio.create_subprocess_exec(
            BIN / "numaplace", "capture", "cluster", "-o", target, "--kubeconfig", config, env={"HOME": "/nonexistent"}
        )
        await world.until(lambda: any(one.path == PODS.path() for one in world.server.asked))
        process.send_signal(end)
        assert await process.wait() != 0
    assert [one.name for one in target.parent.iterdir()] == ["cluster.json"]
    assert target.read_text() == "the one before"


async def test_a_place_that_cannot_be_written_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        target, config = str(tmp_path / "nowhere" / "cluster.json"), kubeconfig(world.server, tmp_path)
        said = await say("capture", "cluster", "-o", target, "--kubeconfig", config)
        assert (said.status, world.server.asked) == (2, [])
    assert said.err == f"numaplace: {target}: found no such file or directory; expected a place to write to\n"


def test_what_is_listed_anew_is_not_written_twice() -> None:
    with spooled(None) as spool:
        for kind, line in (("Node", b"n"), ("Pod", b"half"), ("Pod", b"a list")):
            spool.add(kind, line)
        spool.drop(["Pod"])
        spool.add("Pod", b"younger", ("3", "2"))
        spool.add("Pod", b"older", ("3", "1"))
        assert [*spool] == [*spool] == ["n", "older", "younger"]
        assert spool.counts() == {"Node": 1, "Pod": 2}

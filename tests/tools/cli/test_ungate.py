"""`numaplace ungate` as people run it, against an API server in memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from numaplace.adapters.kube import Key, Kube, NotFoundError
from numaplace.adapters.kube.fake import Answer, FakeServer
from numaplace.adapters.kube.resources import GATE_BINDINGS, NAMESPACES, PODS
from numaplace.model import keys
from numaplace.wire.pod_object import PodObject
from tests.objects import container, pod_object
from tests.tools.live.console import Said, kubeconfig, say

OURS, FOREIGN = {"name": keys.PLAN_GATE}, {"name": "other.example/first"}
PODS_MADE = {
    Key("default", "a"): [OURS],
    Key("default", "b"): [FOREIGN, OURS],
    Key("default", "free"): [],
    Key("default", "theirs"): [FOREIGN],
    Key("other", "a"): [OURS],
}


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    """Pods at gates of all kinds."""
    async with FakeServer() as server, Kube(server.access()) as kube:
        await kube.create(NAMESPACES, {"metadata": {"name": "other"}})
        for key, gates in PODS_MADE.items():
            pod = pod_object(container(), name=key.name, namespace=key.namespace, schedulingGates=gates)
            await kube.create(PODS, pod, key.namespace)
        await kube.create(GATE_BINDINGS, {"metadata": {"name": "numaplace-gate"}})
        yield server


async def ungate(server: FakeServer, folder: Path, *arguments: str) -> Said:
    return await say("ungate", *arguments, "--kubeconfig", kubeconfig(server, folder))


async def gated(server: FakeServer) -> set[Key]:
    """The Pods that wait at our gate; no other gate is ever gone."""
    found = {}
    async with Kube(server.access()) as kube:
        async for page in kube.pages(PODS, PodObject):
            for pod in page.objects:
                key = Key(pod.metadata.namespace or "", pod.metadata.name or "")
                found[key] = {gate.name for gate in pod.spec.scheduling_gates or ()}
    for key, gates in PODS_MADE.items():
        assert found[key] - {keys.PLAN_GATE} == {gate["name"] for gate in gates} - {keys.PLAN_GATE}
    return {key for key, gates in found.items() if keys.PLAN_GATE in gates}


@pytest.mark.parametrize(
    ("arguments", "lines", "still"),
    [
        (["a"], ["default/a", "1 Pod ungated"], {Key("default", "b"), Key("other", "a")}),
        (["a", "-n", "other"], ["other/a", "1 Pod ungated"], {Key("default", "a"), Key("default", "b")}),
        (
            ["--namespace", "default"],
            ["default/a", "default/b still waits at other.example/first", "2 Pods ungated"],
            {Key("other", "a")},
        ),
        (
            ["--all"],
            ["default/a", "default/b still waits at other.example/first", "other/a", "3 Pods ungated"],
            set(),
        ),
        (
            ["--all", "--dry-run"],
            ["default/a", "default/b still waits at other.example/first", "other/a", "3 Pods would be ungated"],
            {Key("default", "a"), Key("default", "b"), Key("other", "a")},
        ),
    ],
    ids=["by name", "by name elsewhere", "a namespace", "all", "dry run"],
)
async def test_our_gate_goes_and_the_others_stay(
    server: FakeServer, tmp_path: Path, arguments: list[str], lines: list[str], still: set[Key]
) -> None:
    said = await ungate(server, tmp_path, *arguments)
    assert sorted(said.lines[:-1]) == lines[:-1]
    assert said.lines[-1] == lines[-1]
    assert await gated(server) == still


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "numaplace ungate: found no Pod; expected names of Pods, --namespace or --all"),
        (["free"], "Pod default/free: found no gate numaplace.dev/plan; expected one that waits for a plan"),
        (["a", "nobody"], "Pod default/nobody: found no such Pod; expected one that waits for a plan"),
        (["a", "--all"], "--all: found names or a namespace beside it; expected either"),
        (["-n", "default", "--for-good"], "--for-good: found no --all, or --dry-run; expected --all and nothing else"),
    ],
)
async def test_what_cannot_be_meant_is_said_and_nothing_is_lifted(
    server: FakeServer, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    said = await ungate(server, tmp_path, *arguments)
    assert (said.status, said.err, said.out) == (2, f"numaplace: {sentence}\n", "")
    assert len(await gated(server)) == 3


async def test_for_good_takes_the_gates_policy_out_of_force_first(server: FakeServer, tmp_path: Path) -> None:
    said = await ungate(server, tmp_path, "--all", "--for-good", "--settle", "1")
    assert said.lines[-1] == "3 Pods ungated"
    asked = [(one.method, one.path) for one in server.asked if one.method in ("DELETE", "PATCH")]
    assert asked[0] == ("DELETE", GATE_BINDINGS.path(name="numaplace-gate"))
    assert await gated(server) == set()
    async with Kube(server.access()) as kube:
        with pytest.raises(NotFoundError):
            await kube.get(GATE_BINDINGS, "numaplace-gate")
    again = await ungate(server, tmp_path, "--all", "--for-good", "--settle", "1")
    assert again.lines == ["numaplace-gate is not in force", "0 Pods ungated"]


async def test_who_may_not_is_told_why(server: FakeServer, tmp_path: Path) -> None:
    server.fail(Answer(403, "Forbidden", "expected the planner, or who may lift gates"), "PATCH", "/pods/a")
    said = await ungate(server, tmp_path, "a")
    assert said.status == 2
    assert "expected the planner, or who may lift gates (HTTP 403, Forbidden)" in said.err


async def test_a_pod_that_is_gone_by_now_needs_nothing(server: FakeServer, tmp_path: Path) -> None:
    server.fail(Answer(404, "NotFound", "gone"), "PATCH", "/pods/b")
    said = await ungate(server, tmp_path, "--namespace", "default")
    assert said.lines == ["default/a", "1 Pod ungated"]

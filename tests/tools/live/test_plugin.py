"""The kubectl plugin and its completion, as kubectl calls them."""

from pathlib import Path

import pytest

from tests.services.planner.world import gated, nodes_of, world_of
from tests.tools.live.console import kubeconfig, say

NO_FILES, FILES = ":4", ":0"


async def completed(*words: str, env: dict[str, str] | None = None) -> tuple[list[str], str]:
    """The candidates without their descriptions, and the directive."""
    said = await say(*words, program="kubectl_complete-numaplace", env=env)
    assert (said.status, said.err) == (0, "")
    *lines, directive = said.out.splitlines()
    return [line.partition("\t")[0] for line in lines], directive


async def test_the_plugin_is_the_same_program_under_its_own_name(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        config = kubeconfig(world.server, tmp_path)
        ours = await say("status", "--kubeconfig", config)
        plugin = await say("status", "--kubeconfig", config, program="kubectl-numaplace")
    assert plugin.out == ours.out
    usage = await say("explain", "pod", "--help", program="kubectl-numaplace")
    assert usage.out.startswith("Usage: kubectl numaplace explain pod [OPTIONS]")


async def test_the_variable_kubeconfig_and_the_contexts_namespace_count_as_with_kubectl(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("p"))
        env = {"KUBECONFIG": f"/no/such/file:{kubeconfig(world.server, tmp_path, namespace='ns')}"}
        here = await say("explain", "pod", "p", program="kubectl-numaplace", env=env)
        there = await say("explain", "pod", "p", "--context", "elsewhere", program="kubectl-numaplace", env=env)
    assert here.lines[0] == "Pod ns/p: waits for a place"
    assert there.err.startswith("numaplace: Pod other/p: found no such Pod")


@pytest.mark.parametrize(
    ("words", "candidates", "directive"),
    [
        (("sta",), ["status"], NO_FILES),
        (("explain", ""), ["pod", "file"], FILES),
        (("capture", "c"), ["cluster"], FILES),
        (("status", "--wai"), ["--waiting"], NO_FILES),
        (("status", "-o", ""), ["table", "json"], NO_FILES),
        (("no-such-command", ""), [], NO_FILES),
        (("status", "--kubeconfig", "/no/such", "--context", ""), [], NO_FILES),
        (("explain", "pod", "--kubeconfig", "/no/such", ""), [], NO_FILES),
    ],
)
async def test_words_are_completed(words: tuple[str, ...], candidates: list[str], directive: str) -> None:
    found, said = await completed(*words)
    assert found[: len(candidates)] == candidates
    assert said == directive


async def test_contexts_and_pods_are_completed(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("train-0"), gated("train-1"), gated("serve-0"))
        env = {"KUBECONFIG": kubeconfig(world.server, tmp_path, namespace="ns")}
        assert await completed("status", "--context", "e", env=env) == (["elsewhere"], NO_FILES)
        assert await completed("explain", "pod", "tr", env=env) == (["train-0", "train-1"], NO_FILES)
        assert await completed("explain", "pod", "ns/s", env=env) == (["ns/serve-0"], NO_FILES)
        assert await completed("explain", "pod", "-n", "other", "", env=env) == ([], NO_FILES)
        world.server.tokens = {"another"}
        assert await completed("explain", "pod", "tr", env=env) == ([], NO_FILES)

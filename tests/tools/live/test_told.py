"""Commands that look at a cluster see it as its planner does: by the word that the planner leaves in its Lease."""

from pathlib import Path

import pytest

from numaplace.adapters.kube import Lease, write_lease
from numaplace.adapters.kube.resources import LEASES
from numaplace.model import keys
from numaplace.model.settings import Settings
from numaplace.services.planner.limits import Limits
from numaplace.wire.settings import Told, decode
from tests.services.planner.world import CALM_TIMES, LEASE_KEY, SETTINGS, World, gated, nodes_of, world_of
from tests.tools.live.console import Said, kubeconfig, say

LEASE = ("--lease", "/".join(LEASE_KEY))
ODD = Settings(enable_label="pool", enable_value="hpc", hcas_exclusive=True, extender_for=("theirs",))


async def looked(world: World, folder: Path, *options: str, lease: tuple[str, ...] = LEASE) -> Said:
    return await say("status", "-o", "json", "--kubeconfig", kubeconfig(world.server, folder), *lease, *options)


def enabled(said: Said) -> list[bool]:
    return [node["enabled"] for node in said.document["nodes"]]


async def told_by(world: World, settings: Settings) -> None:
    """Let a planner with these settings lead, say so, and end."""
    planner = world.start(Limits(silent_s=77.0), settings, times=CALM_TIMES)
    await world.until(lambda: any(one.method == "POST" and "/leases" in one.path for one in world.server.asked))
    await world.kill(planner)


async def test_the_planner_that_leads_says_how_it_is_set_up_and_status_goes_by_it(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.change_node("n2", lambda node: node["metadata"]["labels"].update(pool="hpc"))
        await told_by(world, ODD)
        lease = world.server.store.get(LEASES, LEASE_KEY)
        assert decode(lease["metadata"]["annotations"][keys.SETTINGS], "Lease") == Told(ODD, 77.0)
        said = await looked(world, tmp_path)
        assert (enabled(said), said.err) == ([False, True], "")
        written = await looked(world, tmp_path, "--enable-label", "ack.node.gpu.schedule=topology")
        assert enabled(written) == [True, True]

        world.add(gated("p"))
        file = str(tmp_path / "all.json")
        config = kubeconfig(world.server, tmp_path)
        kept = await say("capture", "cluster", "-o", file, "--ours", "--kubeconfig", config, *LEASE)
        assert kept.out == f"{file}: 1 node, 1 report and 1 Pod\n"
        again = await say("status", "-o", "json", "--capture", file)
        assert (enabled(again), again.err) == ([True], "")
        other = await say("status", "-o", "json", "--capture", file, "--enable-label", "a=b")
        assert enabled(other) == [False]


async def test_the_lease_of_a_planner_that_goes_on_keeps_its_word_and_another_one_brings_its_own(
    tmp_path: Path,
) -> None:
    async with world_of(nodes_of(2)) as world:
        await told_by(world, ODD)
        assert enabled(await looked(world, tmp_path)) == [False, False]
        world.server.asked.clear()
        second = world.start(settings=SETTINGS, times=CALM_TIMES)
        await world.until(lambda: any(one.method == "PUT" and "/leases" in one.path for one in world.server.asked))
        await world.kill(second)
        assert enabled(await looked(world, tmp_path)) == [True, True]


@pytest.mark.parametrize(
    ("notes", "missing"),
    [
        (None, f"there is no Lease {'/'.join(LEASE_KEY)}"),
        ({}, f"Lease {'/'.join(LEASE_KEY)} has no annotation numaplace.dev/settings"),
        ({keys.SETTINGS: "{}"}, "numaplace.dev/settings: silent-s: found nothing; expected this field"),
    ],
)
async def test_without_a_planners_word_the_options_count_and_that_is_said(
    tmp_path: Path, notes: dict[str, str] | None, missing: str
) -> None:
    async with world_of(nodes_of(1)) as world:
        if notes is not None:
            await write_lease(world.kube, LEASE_KEY, Lease("p@", 10, 0.0, 0.0, notes=notes))
        said = await looked(world, tmp_path)
    note = f"note: no planner says how it is set up ({missing}); the options of this command count\n"
    assert (enabled(said), said.err) == ([True], note)


async def test_a_name_that_is_no_lease_is_told(tmp_path: Path) -> None:
    async with world_of(nodes_of(1)) as world:
        said = await looked(world, tmp_path, lease=("--lease", "planner"))
    assert said.err == "numaplace: --lease: found 'planner'; expected NAMESPACE/NAME\n"
    assert said.out == ""

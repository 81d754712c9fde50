"""Pods without a place: what they are told, what wakes them, and that nothing happens while nothing changes."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from numaplace.adapters.kube import Key
from numaplace.adapters.kube.resources import NODES, REPORTS
from numaplace.model import keys
from numaplace.model.settings import Settings
from numaplace.services.planner import Limits
from tests.cluster.nodes import node_object, report_object
from tests.services.planner.reader import allocation_of, double_grants
from tests.services.planner.world import SETTINGS, SINGLE, World, gated, nodes_of, world_of


async def full_world_with(world: World, *waiting: str, settings: Settings = SETTINGS) -> None:
    """Four GPUs are taken, and the named Pods wait for one each."""
    world.add(*(gated(f"old{i}", priority=1) for i in range(4)))
    world.start(settings=settings)
    await world.until_bound(*(f"old{i}" for i in range(4)))
    world.uses("n1", *(f"old{i}" for i in range(4)))
    world.add(*(gated(name) for name in waiting))
    await world.until_refused(*waiting)


async def test_the_condition_and_one_event_say_why() -> None:
    async with world_of(nodes_of()) as world:
        await full_world_with(world, "p")
        assert world.refusal("p").startswith("GPUS_SHORT: needs 1 GPU and 2 CPUs in one NUMA node; node n1: ")
        await world.until(lambda: len(world.events("NumaRefused")) == 1)
        assert world.events("NumaRefused") == [world.refusal("p")]


async def test_nothing_is_asked_while_nothing_changes() -> None:
    async with world_of(nodes_of()) as world:
        await full_world_with(world, *(f"p{i}" for i in range(20)))
        await world.until(lambda: len(world.events("NumaRefused")) == 20)
        await world.quiet()
        before = len(world.requests)
        world.change_node("n1", lambda node: node["status"]["conditions"][0].update(lastHeartbeatTime="now"))
        await world.quiet()
        assert len(world.requests) == before


async def test_a_pod_that_changed_in_nothing_that_matters_is_not_planned_again() -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("wide", gpus=3, priority=1), *(gated(f"p{i}") for i in range(4)))
        world.start()
        await world.until_bound(*(f"p{i}" for i in range(4)))
        await world.until_refused("wide", code="NOT_ALIGNABLE")  # it came first, when all cards were free
        world.change("wide", lambda pod: pod["metadata"]["annotations"].update(note="mine"))
        await world.quiet()
        assert world.refusal("wide").startswith("NOT_ALIGNABLE")


async def test_a_freed_gpu_goes_to_the_first_who_waits() -> None:
    async with world_of(nodes_of()) as world:
        await full_world_with(world, "first", "second")
        world.remove("old2")
        world.uses("n1", "old0", "old1", "old3")
        await world.until_bound("first")
        assert world.refusal("second")
        assert not world.refusal("first")
        await world.until(lambda: len(world.events("NumaPlaced")) == 1)
        assert double_grants(world.pods) == []


async def test_a_freed_gpu_has_nobody_written_to_but_the_pod_that_gets_it() -> None:
    async with world_of(nodes_of()) as world:
        await full_world_with(world)
        names = [f"p{number}" for number in range(12)]
        for name in names:  # no two of them ask alike
            world.add(gated(name, tolerations=[{"key": name, "operator": "Exists"}]))
        await world.until_refused(*names)
        await world.until(lambda: len(world.events("NumaRefused")) == len(names))
        before = len(world.requests)
        world.remove("old2")
        world.uses("n1", "old0", "old1", "old3")
        await world.until(lambda: any(world.pod(name)["spec"].get("nodeName") for name in names))
        await world.quiet()
        touched = {one.path.split("/pods/")[1].split("/")[0] for one in world.requests[before:] if "/pods/" in one.path}
        assert touched == {name for name in names if world.pod(name)["spec"].get("nodeName")}
        assert len(touched) == 1


async def test_a_node_is_held_back_for_a_pod_only_as_long_as_that_waits() -> None:
    async with world_of(nodes_of()) as world:
        await full_world_with(world, settings=replace(SETTINGS, holds_node_back=True))
        world.add(gated("big", gpus=2))
        await world.until_refused("big")
        world.remove("old0")
        world.uses("n1", "old1", "old2", "old3")
        world.add(gated("small"))
        await world.until_refused("small", code="HELD_BACK")
        world.remove("big")
        await world.until_bound("small")


async def test_what_a_running_pod_gives_back_by_a_resize_goes_to_who_waits() -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("big", gpus=0, cpus=12, annotations={}, gates=(), nodeName="n1"))
        world.add(gated("p", gpus=0, cpus=6))
        await world.until_refused("p")
        less = {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}
        world.change("big", lambda pod: pod["spec"]["containers"][0].update(resources=less))
        await world.until_bound("p")


async def test_devices_of_an_ended_pod_are_not_given_away_while_the_node_lists_it() -> None:
    async with world_of(nodes_of()) as world:
        await full_world_with(world, "p")
        world.change("old0", lambda pod: pod["status"].update(phase="Succeeded"))
        world.change_node("n1", lambda node: node["metadata"]["labels"].update(touched="yes"))
        await world.quiet()
        assert not allocation_of(world.pod("p"))
        world.uses("n1", "old1", "old2", "old3")
        await world.until_bound("p")


async def test_a_report_that_is_faster_than_the_end_of_the_pod_counts() -> None:
    async with world_of(nodes_of()) as world:
        await full_world_with(world, "p")
        world.uses("n1", "old1", "old2", "old3")
        await world.quiet()
        world.remove("old0")
        await world.until_bound("p")


async def test_without_word_from_the_agent_devices_are_free_after_a_grace() -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("old", gpus=2, cpus=6), gated("older", gpus=2, cpus=8), gated("p", priority=-1))
        world.start(settings=Settings(release_grace_s=0.1))
        await world.until_bound("old", "older")
        await world.until_refused("p")
        world.remove("old")
        await world.until_bound("p")


async def test_a_new_code_is_told_anew() -> None:
    async with world_of(nodes_of()) as world:
        await full_world_with(world, "p")
        world.change_node("n1", lambda node: node["spec"].update(unschedulable=True))
        await world.until_refused("p", code="NODE_RULE")
        await world.until(lambda: len(world.events("NumaRefused")) == 2)


async def test_a_pod_that_asks_what_nobody_can_give_is_told_so_until_it_asks_something_else() -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("p", annotations={"cpuset-scheduler": "yes"}))
        world.start()
        await world.until_refused("p", code="SPEC_INVALID: Pod ns/p: annotation cpuset-scheduler")
        world.change("p", lambda pod: pod["metadata"].update(annotations=dict(SINGLE)))
        await world.until_bound("p")


async def test_nodes_say_why_they_take_nobody() -> None:
    (unlabelled,), (bare,) = nodes_of(labels={}), nodes_of(name="bare")
    async with world_of([unlabelled]) as world:
        world.add(gated("p"))
        world.start()
        await world.until_refused("p", code="NODE_NOT_ENABLED")
        world.server.store.add(NODES, "", node_object(bare))
        await world.until_refused("p", code="NO_TOPOLOGY")
        uid = world.server.store.get(NODES, Key("", "bare"))["metadata"]["uid"]
        world.server.store.add(REPORTS, "", report_object(bare, uid))
        await world.until_bound("p")


async def test_a_silent_agent_is_not_built_upon_until_it_speaks_again() -> None:
    def alive(moment: datetime) -> Any:
        said = {keys.RENEWED: moment.isoformat()}
        return lambda report: report["metadata"].update(annotations=said)

    async with world_of(nodes_of()) as world:
        world.change_report("n1", alive(datetime(2020, 1, 1, tzinfo=UTC)))
        world.start()
        world.add(gated("p"))
        await world.until_refused("p", code="STALE_TOPOLOGY")
        world.change_report("n1", alive(datetime.now(UTC)))
        await world.until_bound("p")


async def test_a_broken_report_is_no_report() -> None:
    async with world_of(nodes_of()) as world:
        whole = world.server.store.get(REPORTS, Key("", "n1"))["attributes"]
        world.change_report("n1", lambda report: report.update(attributes=[{"name": keys.TOPOLOGY, "value": "{}"}]))
        world.add(gated("p"))
        world.start()
        await world.until_refused("p", code="NO_TOPOLOGY")
        world.change_report("n1", lambda report: report.update(attributes=whole))
        await world.until_bound("p")


async def test_reserved_cpus_of_a_report_are_left_alone() -> None:
    async with world_of(nodes_of(reserved="0-7")) as world:
        world.add(gated("p", gpus=1, cpus=3))
        world.start()
        await world.until_bound("p")
        assert allocation_of(world.pod("p"))["containers"]["main"]["cpus"] == "8-10"


async def test_what_was_said_is_said_again_before_the_event_expires() -> None:
    async with world_of(nodes_of(labels={})) as world:
        world.add(gated("p"))
        world.start(Limits(tick_s=0.02, repeat_s=0.1))
        await world.until(lambda: len(world.events("NumaRefused")) >= 3)
        assert len(set(world.events("NumaRefused"))) == 1
        assert sum(1 for one in world.server.asked if one.method == "PATCH") == 1


async def test_kubelets_that_restart_do_not_take_the_cards_away() -> None:
    def offers(amount: str) -> Any:
        return lambda node: node["status"]["allocatable"].update({"aliyun.com/gpu": amount})

    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("first"))
        await world.until_bound("first")
        world.change_node("n1", offers("0"))
        world.add(gated("p"))
        await world.until_bound("p")

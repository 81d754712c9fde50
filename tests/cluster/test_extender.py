"""The planner as an extender of the real kube-scheduler, by the configuration that the chart has to copy."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from numaplace.adapters.kube import Key, Kube, Resource
from numaplace.adapters.kube.fake import Answer, LoseAnswer, Stall
from numaplace.adapters.kube.fake.faults import Effect
from numaplace.model import keys
from numaplace.model.settings import Settings
from numaplace.services.planner import DoorAddress, Limits, Seat, run
from tests.cluster.control_plane import ControlPlane
from tests.cluster.faulty_proxy import FaultyProxy
from tests.cluster.identities import Rule, granted
from tests.cluster.nodes import alike
from tests.cluster.planner_process import LEASE_KEY, PLANNER, PlannerProcess
from tests.cluster.programs import free_ports
from tests.cluster.scheduler_process import ALSO_ASKING, ASKING, SchedulerProcess, configuration, opted_out, waiting
from tests.cluster.stage import DEADLINE_S, Stage, gated, gone, is_bound
from tests.cluster.test_planner import CSI_NODES, claim
from tests.objects import container, pod_object
from tests.services.planner.reader import allocation_of, misplaced, pin_of, things_of

FOR = ("--extender-for", ASKING, "--extender-for", ALSO_ASKING)


@pytest.fixture
def port() -> int:
    """Where the extender face listens."""
    (port,) = free_ports(1)
    return port


@pytest.fixture
async def may_bind(admin: Kube) -> AsyncIterator[str]:
    """Who may bind: the planner, beside the rights that the chart gives it as long as nobody asks it."""
    async with granted(admin, PLANNER, [Rule("", ("pods/binding",), ("create",))]):
        yield PLANNER


@pytest.fixture
def scheduler(plane: ControlPlane, port: int) -> Iterator[SchedulerProcess]:
    with SchedulerProcess(plane, configuration(f"http://127.0.0.1:{port}/v1")) as scheduler:
        yield scheduler


@pytest.fixture
async def planner(plane: ControlPlane, stage: Stage, may_bind: str, port: int) -> AsyncIterator[PlannerProcess]:
    assert stage.space
    assert may_bind
    with PlannerProcess(plane, "asked", "--extender", f"127.0.0.1:{port}", *FOR) as planner:
        async with asyncio.timeout(DEADLINE_S):
            while planner.page("/state")[0] != 200:
                await asyncio.sleep(0.05)
        yield planner


def plain(name: str) -> dict[str, Any]:
    pod = pod_object(container(limits={"cpu": "1"}, image="none"), name=name, schedulerName=ASKING)
    del pod["metadata"]["namespace"]
    return pod


def counted(planner: PlannerProcess, verb: str, answer: str) -> float:
    """How many answers of a kind the planner gave."""
    line = f'numaplace_extender_answers_total{{answer="{answer}",verb="{verb}"}} '
    for one in planner.page("/metrics")[1].decode().splitlines():
        if one.startswith(line):
            return float(one.removeprefix(line))
    return 0.0


def scheduled_text(pod: dict[str, Any]) -> str:
    """What the scheduler says of a Pod."""
    for one in pod["status"].get("conditions") or ():
        if (one["type"], one["status"]) == ("PodScheduled", "False"):
            return f"{one['reason']}: {one.get('message', '')}"
    return ""


# --- the way of a Pod


@pytest.mark.usefixtures("scheduler")
async def test_pods_with_cards_are_bound_through_the_planner_with_their_allocation_and_no_pin(
    stage: Stage, planner: PlannerProcess
) -> None:
    await stage.nodes(alike(4))
    names = [f"w{i}" for i in range(6)] + [f"o{i}" for i in range(6)]
    await stage.add(*(waiting(name) for name in names[:6]), *(opted_out(name) for name in names[6:]))
    pods = await stage.until_bound(*names)
    assert misplaced(pods) == []
    assert {pin_of(one) for one in pods} == {""}
    assert len({thing for one in pods for thing in things_of(one)}) == 12 * (2 + 12)
    assert counted(planner, "bind", "bound") == 12
    assert counted(planner, "filter", "confirmed") >= 12


@pytest.mark.usefixtures("scheduler", "may_bind")
async def test_where_pins_are_wanted_only_pods_that_were_never_gated_are_hinted(
    plane: ControlPlane, stage: Stage, port: int
) -> None:
    await stage.nodes(alike(4))
    names = [f"w{i}" for i in range(6)] + [f"o{i}" for i in range(6)]
    with PlannerProcess(plane, "asked", "--extender", f"127.0.0.1:{port}", "--extender-pins", *FOR) as planner:
        await stage.add(*(waiting(name) for name in names[:6]), *(opted_out(name) for name in names[6:]))
        pods = await stage.until_bound(*names)
        assert counted(planner, "bind", "bound") == 12
    assert misplaced(pods) == []
    pins = {one["metadata"]["name"]: pin_of(one) for one in pods}
    assert {name for name, pin in pins.items() if pin} == set(names[:6])
    assert len({thing for one in pods for thing in things_of(one)}) == 12 * (2 + 12)


async def test_a_scheduler_that_does_not_ask_yet_goes_where_the_pins_lead(
    plane: ControlPlane, stage: Stage, port: int
) -> None:
    await stage.nodes(alike(4))
    names = [f"w{i}" for i in range(12)]
    silent = {**configuration("http://nobody.invalid"), "extenders": []}
    asked = ("--extender", f"127.0.0.1:{port}", "--extender-pins", *FOR)
    with SchedulerProcess(plane, silent), PlannerProcess(plane, "asked", *asked) as planner:
        await stage.add(*map(waiting, names))
        pods = await stage.until_bound(*names)
        assert counted(planner, "filter", "confirmed") == 0
    assert misplaced(pods) == []
    assert [pin_of(one) for one in pods] == [one["spec"]["nodeName"] for one in pods]
    assert len({thing for one in pods for thing in things_of(one)}) == 12 * (2 + 12)


@pytest.mark.usefixtures("scheduler", "planner")
async def test_pods_without_cards_are_pinned_and_plain_ones_are_left_alone(stage: Stage) -> None:
    await stage.nodes(alike(2))
    await stage.add(waiting("cpus", gpus=0), plain("plain"))
    pods = {one["metadata"]["name"]: one for one in await stage.until_bound("cpus", "plain")}
    assert pin_of(pods["cpus"]) == pods["cpus"]["spec"]["nodeName"]
    assert not pin_of(pods["plain"])
    assert keys.ALLOCATION not in (pods["plain"]["metadata"].get("annotations") or {})


@pytest.mark.usefixtures("scheduler", "planner")
async def test_all_profiles_of_a_scheduler_ask(stage: Stage) -> None:
    await stage.nodes(alike(1))
    await stage.add(waiting("a"), waiting("b", schedulerName=ALSO_ASKING), opted_out("c", schedulerName=ALSO_ASKING))
    pods = await stage.until_bound("a", "b", "c")
    assert misplaced(pods) == []
    assert {pin_of(one) for one in pods} == {""}


@pytest.mark.usefixtures("scheduler", "planner")
async def test_a_pod_of_the_stock_scheduler_beside_it_is_pinned(stage: Stage) -> None:
    await stage.nodes(alike(1))
    await stage.add(waiting("asks"), gated("stock"))
    pods = {one["metadata"]["name"]: pin_of(one) for one in await stage.until_bound("asks", "stock")}
    assert pods == {"asks": "", "stock": "node-0001"}


@pytest.mark.usefixtures("scheduler")
async def test_an_opted_out_pod_waits_at_the_scheduler_in_peace_and_gets_what_comes_free(
    stage: Stage, planner: PlannerProcess
) -> None:
    await stage.nodes(alike(1))
    await stage.add(opted_out("old-a", gpus=4, cpus=24), opted_out("old-b", gpus=4, cpus=24))
    pods = await stage.until_bound("old-a", "old-b")
    uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in pods}
    await stage.in_use("node-0001", uids.values())
    await stage.add(opted_out("narrow", gpus=4, cpus=24))
    await stage.until_refused("narrow", "GPUS_SHORT")
    await stage.until(lambda pods: any(scheduled_text(one) for one in pods))
    asked = counted(planner, "filter", "refused")
    assert asked <= 4
    await gone(stage.admin, Resource("", "v1", "pods", "Pod"), Key(stage.space, "old-b"), grace_s=0)
    await stage.in_use("node-0001", [uids["old-a"]])
    pods = await stage.until_bound("narrow")
    assert misplaced(pods) == []


# --- preemption


@contextlib.asynccontextmanager
async def refusing(port: int) -> AsyncIterator[None]:
    """An extender as many are written: it refuses every node and has no verb for preemption."""

    async def refuse(request: web.Request) -> web.Response:
        names = (await request.json())["NodeNames"] or []
        return web.json_response({"NodeNames": [], "FailedAndUnresolvableNodes": dict.fromkeys(names, "no")})

    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/v1/filter", refuse)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()


VICTIMS = 50


async def victims(stage: Stage) -> None:
    """One Pod of low priority on every node, which has all of its cards."""
    await stage.nodes(alike(VICTIMS))
    for number in range(1, VICTIMS + 1):
        pod = gated(
            f"low-{number:02}",
            gpus=8,
            cpus=1,
            annotations={},
            nodeName=f"node-{number:04}",
            priorityClassName="test-low",
            terminationGracePeriodSeconds=0,
        )
        await stage.add(pod)


def left(pods: list[dict[str, Any]]) -> int:
    return sum(1 for one in pods if one["metadata"]["name"].startswith("low-"))


@pytest.mark.usefixtures("classes")
async def test_an_extender_without_preemption_has_the_scheduler_evict_everybody(
    plane: ControlPlane, stage: Stage, port: int
) -> None:
    """What the stock path does, so that the next test shows something."""
    await victims(stage)
    bare = configuration(f"http://127.0.0.1:{port}/v1", preemptVerb=None, bindVerb=None, prioritizeVerb=None)
    async with refusing(port):
        with SchedulerProcess(plane, bare):
            await stage.add(opted_out("high", gpus=2, priorityClassName="test-high"))
            pods = await stage.until(lambda pods: left(pods) == 0)
    assert not is_bound(next(one for one in pods if one["metadata"]["name"] == "high"))


@pytest.mark.usefixtures("classes", "scheduler")
async def test_for_a_pod_that_the_planner_refuses_nobody_is_evicted(stage: Stage, planner: PlannerProcess) -> None:
    await victims(stage)
    await stage.add(opted_out("high", gpus=2, priorityClassName="test-high"))
    await stage.until_refused("high")
    async with asyncio.timeout(DEADLINE_S):
        while not counted(planner, "preempt", "refused"):
            await asyncio.sleep(0.05)
    said = await stage.until(lambda pods: any(scheduled_text(one) for one in pods))
    assert left(said) == VICTIMS
    before = counted(planner, "preempt", "refused")
    await stage.add(plain("witness"))
    pods = await stage.until_bound("witness")
    assert left(pods) == VICTIMS
    assert counted(planner, "preempt", "refused") <= before + 3  # the witness is an event, and no loop follows


# --- what goes wrong


@pytest.mark.usefixtures("scheduler", "may_bind")
async def test_while_the_planner_is_away_plain_pods_go_on_and_pods_with_cards_wait_for_it(
    plane: ControlPlane, stage: Stage, port: int
) -> None:
    await stage.nodes(alike(2))
    with PlannerProcess(plane, "asked", "--extender", f"127.0.0.1:{port}", *FOR) as planner:
        await stage.add(opted_out("before"))
        await stage.until_bound("before")
        planner.kill()
        await stage.add(opted_out("waits"), plain("plain"))
        await stage.until_bound("plain")
        pods = await stage.until(lambda pods: any("SchedulerError" in scheduled_text(one) for one in pods))
        assert not any(is_bound(one) for one in pods if one["metadata"]["name"] == "waits")
        planner.start()
        pods = await stage.until_bound("waits")
    assert misplaced([one for one in pods if one["metadata"]["name"] != "plain"]) == []


@pytest.mark.usefixtures("planner")
@pytest.mark.parametrize("seen", [0, 2, 9])
async def test_a_scheduler_that_dies_is_followed_by_one_that_goes_on(
    stage: Stage, scheduler: SchedulerProcess, seen: int
) -> None:
    await stage.nodes(alike(4))
    names = [f"w{i}" for i in range(8)] + [f"o{i}" for i in range(8)]
    await stage.add(*(waiting(name) for name in names[:8]), *(opted_out(name) for name in names[8:]))
    await stage.until(lambda pods: sum(map(is_bound, pods)) >= seen)
    scheduler.kill()
    scheduler.start()
    pods = await stage.until_bound(*names)
    assert misplaced(pods) == []
    assert len({thing for one in pods for thing in things_of(one)}) == 16 * (2 + 12)


@pytest.mark.usefixtures("scheduler", "may_bind")
@pytest.mark.parametrize("seen", [0, 2, 9])
async def test_a_planner_that_dies_is_followed_by_one_that_goes_on(
    plane: ControlPlane, stage: Stage, port: int, seen: int
) -> None:
    await stage.nodes(alike(4))
    names = [f"w{i}" for i in range(8)] + [f"o{i}" for i in range(8)]
    with PlannerProcess(plane, "asked", "--extender", f"127.0.0.1:{port}", *FOR) as planner:
        await stage.add(*(waiting(name) for name in names[:8]), *(opted_out(name) for name in names[8:]))
        await stage.until(lambda pods: sum(map(is_bound, pods)) >= seen)
        planner.kill()
        planner.start()
        pods = await stage.until_bound(*names)
    assert misplaced(pods) == []
    assert len({thing for one in pods for thing in things_of(one)}) == 16 * (2 + 12)


FAULTS: dict[str, tuple[Effect, int]] = {
    "lost answers": (LoseAnswer(), 4),
    "conflicts": (Answer(409, "Conflict"), 4),
    "errors": (Answer(500, "InternalError"), 4),
    "no answers": (Stall(), 3),
}


@pytest.mark.usefixtures("scheduler", "may_bind")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_bindings_whose_answers_are_lost_late_or_wrong_are_made_once(
    plane: ControlPlane, stage: Stage, port: int, fault: tuple[Effect, int]
) -> None:
    effect, times = fault
    await stage.nodes(alike(2))
    names = [f"w{i}" for i in range(4)] + [f"o{i}" for i in range(4)]
    settings = Settings(extender_for=(ASKING,))
    limits = replace(Limits(), extender_deadline_s=1.0)
    async with FaultyProxy(plane.access(PLANNER), plane.authority) as proxy, Kube(proxy.access()) as kube:
        for _ in range(times):
            proxy.fail(effect, "POST", "/binding")
        door = DoorAddress("127.0.0.1", port)
        planner = asyncio.create_task(run(kube, settings, limits, Seat(LEASE_KEY), None, door=door))
        try:
            await stage.add(*(waiting(name) for name in names[:4]), *(opted_out(name) for name in names[4:]))
            pods = await stage.until_bound(*names)
        finally:
            planner.cancel()
            await asyncio.wait([planner])
    assert misplaced(pods) == []
    assert len({thing for one in pods for thing in things_of(one)}) == 8 * (2 + 12)


@pytest.mark.usefixtures("scheduler", "planner")
async def test_a_rule_that_nobody_foresaw_costs_a_bare_pod_another_plan_and_no_life(admin: Kube, stage: Stage) -> None:
    """How many volumes a driver can attach is left to the scheduler: the planned node can take none."""
    await stage.nodes(alike(2))
    await claim(admin, stage.space, csi={"driver": "disks.example", "volumeHandle": "v"})
    for node, most in (("node-0001", 0), ("node-0002", 8)):
        driver = {"name": "disks.example", "nodeID": node, "allocatable": {"count": most}}
        await admin.create(CSI_NODES, {"metadata": {"name": node}, "spec": {"drivers": [driver]}})
    try:
        await stage.add(waiting("p", volumes=[{"name": "model", "persistentVolumeClaim": {"claimName": "model"}}]))
        (pod,) = await stage.until_bound("p")
    finally:
        for node in ("node-0001", "node-0002"):
            await gone(admin, CSI_NODES, Key("", node))
    assert (pod["spec"]["nodeName"], allocation_of(pod)["node"]) == ("node-0002", "node-0002")


# --- other set-ups


@pytest.mark.usefixtures("planner")
async def test_whole_nodes_in_place_of_names_are_understood(plane: ControlPlane, stage: Stage, port: int) -> None:
    await stage.nodes(alike(3))
    whole = configuration(f"http://127.0.0.1:{port}/v1", nodeCacheCapable=False)
    with SchedulerProcess(plane, whole):
        await stage.add(waiting("gated"), opted_out("open"), opted_out("wide", gpus=5))
        pods = await stage.until_bound("gated", "open")
        await stage.until(lambda pods: any("numaplace: NOT_ALIGNABLE" in scheduled_text(one) for one in pods))
    assert misplaced(pods) == []


@pytest.mark.usefixtures("may_bind")
async def test_over_tls_the_scheduler_and_the_planner_know_each_other(
    plane: ControlPlane, stage: Stage, port: int
) -> None:
    own = plane.authority.server("extender", "127.0.0.1")
    chain, key = plane.authority.server("extender-client", "client.invalid")
    trust = {"caFile": str(plane.authority.certificate), "certFile": str(chain), "keyFile": str(key)}
    secured = configuration(f"https://127.0.0.1:{port}/v1", enableHTTPS=True, tlsConfig=trust)
    options = ("--extender", f"127.0.0.1:{port}", *FOR, "--extender-tls", *map(str, own))
    options += ("--extender-clients", str(plane.authority.certificate))
    await stage.nodes(alike(1))
    with PlannerProcess(plane, "secured", *options), SchedulerProcess(plane, secured):
        await stage.add(opted_out("a"), waiting("b"))
        pods = await stage.until_bound("a", "b")
    assert misplaced(pods) == []


@pytest.mark.usefixtures("may_bind")
async def test_a_scheduler_may_ask_the_planner_that_stands_by(plane: ControlPlane, stage: Stage, port: int) -> None:
    """The two find each other by the address of their pages, and listen for schedulers on the same port."""
    await stage.nodes(alike(2))
    hosts = {"first": "127.0.0.1", "second": "127.0.0.2"}
    options = {
        name: ("--name", name, "--advertise", f"{host}:1", "--extender", f"{host}:{port}", *FOR)
        for name, host in hosts.items()
    }
    with PlannerProcess(plane, "first", *options["first"]) as first:
        async with asyncio.timeout(DEADLINE_S):
            while first.page("/state")[0] != 200:
                await asyncio.sleep(0.05)
        with (
            PlannerProcess(plane, "second", *options["second"]) as second,
            SchedulerProcess(plane, configuration(f"http://{hosts['second']}:{port}/v1")),
        ):
            await stage.add(waiting("a"), opted_out("b"))
            await stage.until_bound("a", "b")
            assert counted(second, "bind", "forwarded") == 2
            first.kill()
            await stage.add(waiting("c"), opted_out("d"))
            pods = await stage.until_bound("c", "d")
    assert misplaced(pods) == []
    assert len({thing for one in pods for thing in things_of(one)}) == 4 * (2 + 12)

"""Several planners: one plans, the others stand by and take over."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from numaplace.adapters.kube import Kube, Lease, Patience, read_lease, write_lease
from numaplace.adapters.kube.fake import Answer, FakeServer, LoseAnswer
from numaplace.adapters.kube.resources import LEASES
from numaplace.services.planner.election import Candidate, Election, Times, candidate_of
from tests.services.planner.reader import double_grants, misplaced
from tests.services.planner.world import LEASE_KEY, gated, nodes_of, world_of

TIMES = Times(lease_s=10, believed_s=7.0, look_s=0.01)


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@contextlib.asynccontextmanager
async def candidate(kube: Kube, name: str, clock: Clock) -> AsyncIterator[Election]:
    me = Candidate(name, f"{name}:8480")
    election = Election(kube, LEASE_KEY, me, TIMES, clock=clock, wall=lambda: 1_800_000_000.0)
    running = asyncio.create_task(election.run())
    try:
        yield election
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def kube(server: FakeServer) -> AsyncIterator[Kube]:
    async with Kube(server.access(), patience=Patience(0.2, 0.1)) as kube:
        yield kube


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not fact():
            await asyncio.sleep(0.005)


async def looks(server: FakeServer, count: int = 4) -> None:
    """Return after so many more requests for the Lease were made."""
    before = len(server.asked)
    await until(lambda: len(server.asked) >= before + count)


async def test_the_first_leads_and_the_second_knows_whom_to_ask(server: FakeServer, kube: Kube) -> None:
    clock = Clock()
    async with candidate(kube, "a", clock) as a:
        await a.elected()
        async with candidate(kube, "b", clock) as b:
            await until(lambda: b.leader == Candidate("a", "a:8480"))
            await looks(server)
            assert (a.leads, b.leads) == (True, False)
            assert a.leader == Candidate("a", "a:8480")
    lease = await read_lease(kube, LEASE_KEY)
    assert lease is not None
    assert (lease.holder, lease.duration_s, lease.transitions) == ("a@a:8480", 10, 0)


async def test_a_lease_that_is_given_up_is_taken_at_once(kube: Kube) -> None:
    clock = Clock()
    async with candidate(kube, "a", clock) as a:
        await a.elected()
    async with candidate(kube, "b", clock) as b:
        await until(lambda: b.leader == Candidate("a", "a:8480"))
        await a.resign()
        assert not a.leads
        await b.elected()


async def test_a_planner_that_ends_while_it_renews_gives_its_lease_up(server: FakeServer, kube: Kube) -> None:
    clock = Clock()
    async with candidate(kube, "a", clock) as a:
        await a.elected()
        server.fail(LoseAnswer(), "PUT", "/leases", 10_000)
        await looks(server)
    server.faults.clear()
    await a.resign()
    lease = await read_lease(kube, LEASE_KEY)
    assert lease is not None
    assert lease.holder == ""


async def test_a_lease_of_another_is_not_given_up(kube: Kube) -> None:
    await write_lease(kube, LEASE_KEY, Lease("other@other:1", 10, 0.0, 0.0))
    async with candidate(kube, "b", Clock()) as b:
        await until(lambda: b.leader is not None)
    await b.resign()
    lease = await read_lease(kube, LEASE_KEY)
    assert lease is not None
    assert lease.holder == "other@other:1"


async def test_a_lease_that_is_not_renewed_is_taken_when_its_time_is_over(server: FakeServer, kube: Kube) -> None:
    clock = Clock()
    await write_lease(kube, LEASE_KEY, Lease("dead@dead:1", 10, 0.0, 0.0))
    async with candidate(kube, "b", clock) as b:
        await until(lambda: b.leader == Candidate("dead", "dead:1"))
        clock.now_s += 9.9
        await looks(server)
        assert not b.leads
        clock.now_s += 0.1
        await b.elected()
    lease = await read_lease(kube, LEASE_KEY)
    assert lease is not None
    assert (lease.holder, lease.transitions) == ("b@b:8480", 1)


async def test_a_lease_that_is_renewed_stays_whatever_the_clocks_say(server: FakeServer, kube: Kube) -> None:
    """The times in the Lease are those of another machine; only that it changes counts."""
    clock = Clock()
    lease = await write_lease(kube, LEASE_KEY, Lease("other@other:1", 10, 0.0, 0.0))
    async with candidate(kube, "b", clock) as b:
        await until(lambda: b.leader is not None)
        for turn in range(5):
            clock.now_s += 9.0
            lease = await write_lease(kube, LEASE_KEY, replace(lease, renewed_s=float(turn + 1)))
            await looks(server)
            assert not b.leads


async def test_a_leader_whose_renewals_fail_stops_before_its_lease_is_over(server: FakeServer, kube: Kube) -> None:
    clock = Clock()
    async with candidate(kube, "a", clock) as a:
        await a.elected()
        server.fail(Answer(503), "PUT", "/leases", 10_000)
        server.fail(Answer(503), "GET", "/leases", 10_000)
        await looks(server)
        assert a.leads
        clock.now_s += TIMES.believed_s
        assert not a.leads
        await a.deposed()
        server.faults.clear()
        await a.elected()


async def test_a_leader_that_slept_does_not_believe_to_lead(kube: Kube) -> None:
    asleep, clock = Clock(), Clock()
    async with candidate(kube, "a", asleep) as a:
        await a.elected()
    async with candidate(kube, "b", clock) as b:
        await until(lambda: b.leader is not None)
        clock.now_s += 10.0
        await b.elected()
        asleep.now_s += 10.0
        assert not a.leads


async def test_a_term_ends_even_where_the_lease_is_lost_for_a_moment(server: FakeServer, kube: Kube) -> None:
    clock = Clock()
    async with candidate(kube, "a", clock) as a:
        await a.elected()
        deposed = asyncio.create_task(a.deposed())
        server.store.remove(LEASES, LEASE_KEY)
        rival = await write_lease(kube, LEASE_KEY, Lease("rival@", 10, 0.0, 0.0))
        await until(lambda: not a.leads)
        await write_lease(kube, LEASE_KEY, replace(rival, holder=""))
        await a.elected()
        async with asyncio.timeout(20):
            await deposed


async def test_a_renewal_without_an_answer_is_no_loss(server: FakeServer, kube: Kube) -> None:
    clock = Clock()
    async with candidate(kube, "a", clock) as a:
        await a.elected()
        server.fail(LoseAnswer(), "PUT", "/leases", 2)
        await looks(server, 8)
        clock.now_s += TIMES.believed_s - 1
        await looks(server)
        clock.now_s += 2
        assert a.leads


@pytest.mark.parametrize("text", ["", "somebody", "name@host:1", "na@me@[::1]:80"])
def test_a_holder_is_read_as_it_is_written(text: str) -> None:
    found = candidate_of(text)
    assert text in (found.holder, found.name)


# --- whole planners


async def test_a_planner_that_dies_is_followed_by_the_one_that_stood_by() -> None:
    async with world_of(nodes_of(2)) as world:
        first = world.start(name="first")
        world.add(gated("a"))
        await world.until_bound("a")
        world.start(name="second")
        await world.until(lambda: world.asked("GET", "/pods") >= 4)  # a list and a watch each
        await world.kill(first)
        names = [f"p{i}" for i in range(6)]
        world.add(*(gated(name) for name in names))
        await world.until_bound(*names)
        assert double_grants(world.pods) == []
        assert misplaced(world.pods) == []


async def test_a_planner_that_loses_the_lease_writes_nothing_and_may_win_it_again() -> None:
    async with world_of(nodes_of(2)) as world:
        world.start()
        world.add(gated("a"))
        await world.until_bound("a")
        world.server.store.remove(LEASES, LEASE_KEY)
        await write_lease(world.kube, LEASE_KEY, Lease("rival@", 3600, 0.0, 0.0))
        looks = len(world.server.asked)
        await world.until(lambda: len(world.server.asked) >= looks + 3)  # by now it has seen the rival
        writes = world.asked("PATCH")
        world.add(gated("b"))
        await world.quiet()
        assert world.asked("PATCH") == writes
        world.server.store.remove(LEASES, LEASE_KEY)
        await world.until_bound("b")
        assert misplaced(world.pods) == []

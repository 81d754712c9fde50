"""A follower misses nothing, whatever ends its watches, and says what it could not read."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated, Any

import msgspec

from numaplace.adapters.kube import (
    Broken,
    BusyError,
    Follower,
    Gone,
    Kube,
    Patience,
    Seen,
    Step,
    Synced,
    Trouble,
    merge,
)
from numaplace.adapters.kube.fake import Answer, DropRequest, FakeServer, Stall
from numaplace.adapters.kube.resources import CONFIG_MAPS, PODS
from numaplace.wire.pod_object import Metadata, PodObject
from tests.adapters.kube.conftest import Sleeps
from tests.adapters.kube.contract import Bare, config_map, first_batch_with, free_pod, names


class Numbers(msgspec.Struct):
    n: Annotated[str, msgspec.Meta(pattern="^[0-9]+$")]


class Numbered(msgspec.Struct):
    """A ConfigMap as a decoder with a rule of its own sees it."""

    metadata: Metadata
    data: Numbers


Steps = AsyncGenerator[list[Step[Any]], None]


def synced(step: Step[Any]) -> bool:
    return isinstance(step, Synced)


def of(name: str) -> Any:
    return lambda step: not isinstance(step, Synced | Trouble) and step.key.name == name


async def make(kube: Kube, *created: str) -> None:
    for name in created:
        await kube.create(CONFIG_MAPS, config_map(name), "default")


@contextlib.asynccontextmanager
async def following(follower: Follower[Any]) -> AsyncGenerator[Steps, None]:
    """The steps after the first list, with the watch open."""
    async with contextlib.aclosing(follower.steps()) as steps:
        await first_batch_with(steps, synced)
        yield steps


async def watching(server: FakeServer, steps: Steps, kube: Kube) -> None:
    """Get to where a watch is open and has told something."""
    await make(kube, "opened")
    await first_batch_with(steps, of("opened"))
    assert len(server.watches.open) == 1


async def test_after_a_clean_end_it_resumes_and_misses_nothing(server: FakeServer, kube: Kube) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with following(follower) as steps:
        await watching(server, steps, kube)
        server.watches.cut(clean=True)
        await make(kube, "a", "b")
        await kube.delete(CONFIG_MAPS, "a", "default")
        told = await first_batch_with(steps, lambda step: isinstance(step, Gone))
    assert names(told, Seen) == ["a", "b"]
    assert [step for step in told if isinstance(step, Trouble)] == []
    assert (follower.lists, follower.watches) == (1, 2)
    resumed = [one.query["resourceVersion"] for one in server.asked if one.query.get("watch")]
    assert len(set(resumed)) == 2


async def test_after_a_broken_connection_it_resumes_too(server: FakeServer, kube: Kube, sleeps: Sleeps) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with following(follower) as steps:
        await watching(server, steps, kube)
        server.watches.cut(clean=False)
        await make(kube, "a")
        told = await first_batch_with(steps, of("a"))
    assert any(isinstance(step, Trouble) for step in told)
    assert (follower.lists, follower.watches) == (1, 2)
    assert sleeps


async def test_a_server_that_is_away_for_a_while_is_waited_for(server: FakeServer, kube: Kube, sleeps: Sleeps) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with following(follower) as steps:
        await watching(server, steps, kube)
        server.watches.cut(clean=False)
        server.fail(DropRequest(), "GET", times=2)
        server.fail(Answer(503), "GET", times=2)
        server.fail(Answer(429, retry_after_s=12), "GET")
        await make(kube, "a")
        told = await first_batch_with(steps, of("a"))
    assert follower.lists == 1
    errors = [step.error for step in told if isinstance(step, Trouble)]
    assert [error.code for error in errors if isinstance(error, BusyError)] == [503, 503, 429]
    assert max(sleeps) == 12


async def test_a_forgotten_version_is_listed_anew_and_the_lost_are_told(server: FakeServer, kube: Kube) -> None:
    await make(kube, "stays", "goes", "becomes-another")
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with following(follower) as steps:
        await watching(server, steps, kube)
        server.watches.cut(clean=True)
        await kube.delete(CONFIG_MAPS, "goes", "default")
        await kube.delete(CONFIG_MAPS, "becomes-another", "default")
        await make(kube, "becomes-another", "comes")
        server.forget()
        told = await first_batch_with(steps, synced)
    assert sorted(names(told, Gone)) == ["becomes-another", "goes"]
    assert sorted(names(told, Seen)) == ["becomes-another", "comes", "opened", "stays"]
    another = [step for step in told if isinstance(step, Gone | Seen) and step.key.name == "becomes-another"]
    assert [type(step) for step in another] == [Gone, Seen]
    assert follower.lists == 2


async def test_a_slow_consumer_does_not_hold_up_the_server(server: FakeServer, kube: Kube) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with following(follower) as steps:
        await watching(server, steps, kube)
        for number in range(100):  # 20 MB: more than the system keeps for a reader that does not read
            server.store.add(CONFIG_MAPS, "default", config_map(f"big{number}", text="x" * 200_000))
        async with asyncio.timeout(30):
            while server.watches.open[0].seen != server.store.version:
                await asyncio.sleep(0.01)
        told = await first_batch_with(steps, of("big99"))
    assert len(names(told, Seen)) == 100


async def test_a_version_refused_as_http_status_is_listed_anew(server: FakeServer, kube: Kube) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with following(follower) as steps:
        server.fail(Answer(410, "Expired"), "GET")
        await first_batch_with(steps, synced)
    assert follower.lists == 2


async def test_a_list_whose_pages_expire_is_begun_again(server: FakeServer, kube: Kube) -> None:
    await make(kube, "a", "b", "c")
    follower = Follower(kube, CONFIG_MAPS, Bare, page_size=2)
    async with contextlib.aclosing(follower.steps()) as steps:
        await anext(steps)
        server.forget()
        told = await first_batch_with(steps, synced)
    assert names(told, Seen)[-3:] == ["a", "b", "c"]
    assert follower.lists == 2


async def test_streams_that_end_at_once_again_and_again_are_listed_anew(server: FakeServer, kube: Kube) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with following(follower) as steps:
        ending = asyncio.create_task(end_every_watch(server))
        await first_batch_with(steps, synced)
        ending.cancel()
    assert follower.lists == 2
    assert follower.watches >= 3


async def end_every_watch(server: FakeServer) -> None:
    while True:
        server.watches.cut(clean=True)
        await asyncio.sleep(0)


async def test_bookmarks_move_the_version_and_are_no_news(server: FakeServer, kube: Kube) -> None:
    await kube.create(PODS, free_pod("p"), "default")
    follower = Follower(kube, PODS, PodObject)
    async with following(follower) as steps:
        await kube.create(PODS, free_pod("q"), "default")
        await first_batch_with(steps, of("q"))
        await make(kube, "of-another-kind")
        server.watches.bookmark()  # its Pod has null for containers, which no Pod of the planner's has
        waiting = asyncio.create_task(anext(steps))
        async with asyncio.timeout(10):
            while follower.version != str(server.store.version):
                await asyncio.sleep(0)
        assert not waiting.done()
        server.forget()
        server.store.oldest = int(follower.version)  # the bookmark is young enough, the last event is not
        server.watches.cut(clean=True)
        await kube.create(PODS, free_pod("r"), "default")
        assert names(await waiting, Seen) == ["r"]
        assert follower.lists == 1


async def test_silence_is_a_dead_connection(kube: Kube) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare, quiet_s=0.05)
    async with following(follower) as steps:
        told = await first_batch_with(steps, lambda step: isinstance(step, Trouble))
        assert "nothing came for" in str(told[-1])
        await make(kube, "a")
        await first_batch_with(steps, of("a"))
    assert follower.lists == 1


async def test_a_watch_that_does_not_begin_is_begun_again(server: FakeServer, kube: Kube, sleeps: Sleeps) -> None:
    async with Kube(server.access(), patience=Patience(attempt_s=0.3), sleep=sleeps) as hasty:
        follower = Follower(hasty, CONFIG_MAPS, Bare)
        async with following(follower) as steps:
            server.fail(Stall(), "GET")
            told = await first_batch_with(steps, lambda step: isinstance(step, Trouble))
            assert "no answer for 0.3 s" in str(told[-1])
            await make(kube, "a")
            await first_batch_with(steps, of("a"))


async def test_one_broken_object_spoils_neither_the_list_nor_the_watch(kube: Kube) -> None:
    for name in ("a", "broken", "c"):
        await kube.create(CONFIG_MAPS, config_map(name, n="yes" if name == "broken" else "1"), "default")
    follower = Follower(kube, CONFIG_MAPS, Numbered)
    async with contextlib.aclosing(follower.steps()) as steps:
        listed = await first_batch_with(steps, synced)
        assert names(listed, Seen) == ["a", "c"]
        assert names(listed, Broken) == ["broken"]
        await kube.patch(CONFIG_MAPS, "c", merge({"data": {"n": "no"}}), "default")
        await kube.patch(CONFIG_MAPS, "broken", merge({"data": {"n": "1"}}), "default")
        changed = await first_batch_with(steps, of("broken"))
    assert names(changed, Broken) == ["c"]
    assert names(changed, Seen) == ["broken"]
    assert "Expected `str` matching regex" in next(step.problem for step in changed if isinstance(step, Broken))

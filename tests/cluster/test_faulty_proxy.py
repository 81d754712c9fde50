"""The proxy changes nothing but what it is asked to, and the client survives that on the real API server too."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from numaplace.adapters.kube import (
    AnswerLostError,
    Follower,
    Key,
    Kube,
    KubeError,
    NotFoundError,
    Seen,
    Step,
    Synced,
    bind,
)
from numaplace.adapters.kube.fake import Answer, DropRequest, LoseAnswer
from numaplace.adapters.kube.resources import CONFIG_MAPS, PODS
from tests.adapters.kube.contract import Bare, KubeContract, config_map, decoded, first_batch_with, free_pod, names
from tests.cluster.control_plane import ControlPlane
from tests.cluster.faulty_proxy import FaultyProxy, Moment, Trap
from tests.cluster.identities import CONTRACT


@pytest.fixture
async def proxy(plane: ControlPlane) -> AsyncIterator[FaultyProxy]:
    async with FaultyProxy(plane.access(CONTRACT), plane.authority) as proxy:
        yield proxy


@pytest.fixture
async def kube(proxy: FaultyProxy) -> AsyncIterator[Kube]:
    async with Kube(proxy.access()) as kube:
        yield kube


def seen(key: Key) -> Callable[[Step[Any]], bool]:
    return lambda step: isinstance(step, Seen) and step.key == key


class TestThroughTheProxy(KubeContract):
    """All of the contract, with the proxy in between."""


async def test_a_binding_whose_answer_is_lost_is_found_done(proxy: FaultyProxy, kube: Kube, space: str) -> None:
    uid = decoded(await kube.create(PODS, free_pod("p"), space))["metadata"]["uid"]
    proxy.fail(LoseAnswer(), "POST", "/binding")
    await bind(kube, Key(space, "p"), uid=uid, node="n1", annotations={"a.example/b": "c"})
    pod = decoded(await kube.get(PODS, "p", space))
    assert (pod["spec"]["nodeName"], pod["metadata"]["annotations"]) == ("n1", {"a.example/b": "c"})
    assert len([one for one in proxy.asked if one.endswith("/binding")]) == 1


async def test_a_write_whose_answer_is_lost_is_told_and_done(proxy: FaultyProxy, kube: Kube, space: str) -> None:
    proxy.fail(LoseAnswer(), "POST")
    with pytest.raises(AnswerLostError):
        await kube.create(CONFIG_MAPS, config_map("a"), space)
    await kube.get(CONFIG_MAPS, "a", space)


async def test_a_follower_misses_nothing_when_watches_are_cut(proxy: FaultyProxy, kube: Kube, space: str) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with contextlib.aclosing(follower.steps()) as steps:
        await first_batch_with(steps, lambda step: isinstance(step, Synced))
        told = []
        for number in range(5):
            await kube.create(CONFIG_MAPS, config_map(f"m{number}"), space)
            told += await first_batch_with(steps, seen(Key(space, f"m{number}")))
            proxy.cut_watches()
        proxy.fail(Answer(410, "Expired"), "GET", "/configmaps")
        await kube.create(CONFIG_MAPS, config_map("last"), space)
        told += await first_batch_with(steps, seen(Key(space, "last")))
    assert {f"m{number}" for number in range(5)} <= set(names(told, Seen))
    assert (follower.lists, follower.watches) == (2, 6)


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("lost", [True, False])
async def test_a_trap_holds_one_write_before_or_after_it_is_done(
    proxy: FaultyProxy, kube: Kube, admin: Kube, space: str, moment: Moment, lost: bool
) -> None:
    proxy.trap = trap = Trap(lambda method, _, body: method == "POST" and b'"b"' in body, moment)
    await kube.create(CONFIG_MAPS, config_map("a"), space)
    writing = asyncio.create_task(kube.create(CONFIG_MAPS, config_map("b"), space))
    await trap.sprung.wait()
    assert await there(admin, "b", space) is (moment is Moment.AFTER)
    trap.let_go(DropRequest() if lost else None)
    with pytest.raises(KubeError) if lost else contextlib.nullcontext():
        await writing
    assert await there(admin, "b", space) is not (lost and moment is Moment.BEFORE)
    await kube.create(CONFIG_MAPS, config_map("c"), space)


async def there(admin: Kube, name: str, space: str) -> bool:
    try:
        await admin.get(CONFIG_MAPS, name, space)
    except NotFoundError:
        return False
    return True

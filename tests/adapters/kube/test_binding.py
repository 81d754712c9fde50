"""Binding ends with the truth, whatever becomes of the answers; evictions do not wait for budgets."""

import pytest

from numaplace.adapters.kube import (
    AnswerLostError,
    BusyError,
    ConflictError,
    EventType,
    Key,
    Kube,
    NotFoundError,
    Reporter,
    bind,
    evict,
    post_event,
)
from numaplace.adapters.kube.events import About
from numaplace.adapters.kube.fake import Answer, DropRequest, FakeServer, LoseAnswer
from numaplace.adapters.kube.resources import EVENTS, NODES, PODS
from tests.adapters.kube.conftest import Sleeps
from tests.adapters.kube.contract import decoded, free_pod

POD = Key("default", "p")


@pytest.fixture
async def uid(kube: Kube) -> str:
    made: str = decoded(await kube.create(PODS, free_pod("p"), "default"))["metadata"]["uid"]
    return made


async def node_of_the_pod(kube: Kube) -> str | None:
    node: str | None = decoded(await kube.get(PODS, "p", "default"))["spec"].get("nodeName")
    return node


def bindings(server: FakeServer) -> int:
    return len([one for one in server.asked if one.path.endswith("/binding")])


async def test_a_lost_answer_to_a_binding_that_was_done_is_a_success(server: FakeServer, kube: Kube, uid: str) -> None:
    server.fail(LoseAnswer(), "POST", "/binding")
    await bind(kube, POD, uid=uid, node="n1", annotations={})
    assert await node_of_the_pod(kube) == "n1"
    assert bindings(server) == 1


@pytest.mark.parametrize("effect", [DropRequest(), Answer(500), Answer(504)])
async def test_a_binding_that_was_not_done_is_sent_once_more(
    server: FakeServer, kube: Kube, uid: str, effect: DropRequest | Answer
) -> None:
    server.fail(effect, "POST", "/binding")
    await bind(kube, POD, uid=uid, node="n1", annotations={})
    assert await node_of_the_pod(kube) == "n1"
    assert bindings(server) == 2


async def test_a_binding_that_fails_twice_is_told(server: FakeServer, kube: Kube, uid: str) -> None:
    server.fail(DropRequest(), "POST", "/binding", times=2)
    with pytest.raises(AnswerLostError):
        await bind(kube, POD, uid=uid, node="n1", annotations={})
    assert await node_of_the_pod(kube) is None


async def test_a_pod_that_is_gone_is_told(kube: Kube, uid: str) -> None:
    await kube.delete(PODS, "p", "default")
    with pytest.raises(NotFoundError):
        await bind(kube, POD, uid=uid, node="n1", annotations={})


async def test_a_pod_that_ends_is_not_bound_again(kube: Kube, uid: str) -> None:
    await bind(kube, POD, uid=uid, node="n1", annotations={})
    await kube.delete(PODS, "p", "default")
    with pytest.raises(ConflictError):
        await bind(kube, POD, uid=uid, node="n2", annotations={})
    assert decoded(await kube.get(PODS, "p", "default"))["metadata"]["deletionTimestamp"]


async def test_an_eviction_that_a_budget_forbids_is_an_answer(
    server: FakeServer, kube: Kube, sleeps: Sleeps, uid: str
) -> None:
    server.fail(Answer(429, "TooManyRequests", "would violate the pod's disruption budget", 10), "POST", "/eviction")
    assert not await evict(kube, POD, uid=uid)
    assert sleeps == []
    server.fail(Answer(500), "POST", "/eviction")
    with pytest.raises(BusyError):
        await evict(kube, POD, uid=uid)


async def test_an_event_whose_answer_is_lost_is_there_once(server: FakeServer, kube: Kube) -> None:
    server.fail(LoseAnswer(), "POST", "/events")
    await post_event(
        kube,
        About(NODES, "", "n1", "uid-of-n1"),
        Reporter("numaplace.dev/planner", "planner-0"),
        kind=EventType.NORMAL,
        reason="NumaPlaced",
        action="Plan",
        note="",
        at_s=0.0,
    )
    pages = [page async for page in kube.pages(EVENTS, dict)]
    assert [one["regarding"]["name"] for page in pages for one in page.objects] == ["n1"]

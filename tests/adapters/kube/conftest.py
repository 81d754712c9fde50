"""An API server in memory, and a client of it that does not really wait."""

from collections.abc import AsyncIterator

import pytest

from numaplace.adapters.kube import Kube, Patience
from numaplace.adapters.kube.fake import FakeServer

pytest.register_assert_rewrite("tests.adapters.kube.contract")


class Sleeps(list[float]):
    """How long the client would have waited, wait by wait."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
def sleeps() -> Sleeps:
    return Sleeps()


@pytest.fixture
async def kube(server: FakeServer, sleeps: Sleeps) -> AsyncIterator[Kube]:
    async with Kube(server.access(), patience=Patience(call_s=60.0, attempt_s=5.0), sleep=sleeps) as kube:
        yield kube


@pytest.fixture
def space() -> str:
    return "default"

"""The extender face's HTTP: one write an answer, in time, over TLS, and from a planner that only stands by."""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

from numaplace.adapters.kube.fake import Stall
from numaplace.model.errors import InputError
from numaplace.services.planner import Address, DoorAddress, Limits, TlsFiles
from tests.services.planner.asking import answers, asking, door
from tests.services.planner.extender.test_answers import ASKED, binding, open_pod, question
from tests.services.planner.reader import allocation_of
from tests.services.planner.world import QUICK, World, gated, nodes_of, world_of

Answered = tuple[int, Any]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with world_of(nodes_of(2)) as world:
        yield world


async def started(world: World, limits: Limits = QUICK, **more: Any) -> DoorAddress:
    at = door(**more)
    world.start(limits, ASKED, door=at)
    if at.tls is None:
        await answers(world, at)
    return at


async def asked(at: DoorAddress, verb: str, body: bytes, tls: ssl.SSLContext | None = None) -> Answered:
    url = f"{'http' if tls is None else 'https'}://{at.host}:{at.port}/v1/{verb}"
    async with aiohttp.ClientSession() as session, session.post(url, data=body, ssl=tls or True) as response:
        return response.status, json.loads(await response.read())


def plain(world: World) -> dict[str, Any]:
    world.add(gated("plain", gpus=0, annotations={}, gates=()))
    return world.pod("plain")


# --- answers


def data_segments_in(client: socket.socket) -> int:
    """Segments with data that came, of struct tcp_info (linux/tcp.h): one for each write of the other side."""
    (segments,) = struct.unpack_from("I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 152)
    return int(segments)


async def test_an_answer_is_one_write_and_the_connection_stays(world: World) -> None:
    """Two writes would cost 40 ms each time: the second waits for the delayed acknowledgement of the first."""
    at = await started(world)
    body = json.dumps(question(plain(world), *(f"node-{i}" for i in range(50)))).encode()
    request = b"POST /v1/filter HTTP/1.1\r\nHost: n\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    loop = asyncio.get_running_loop()
    with socket.create_connection((at.host, at.port)) as client:
        client.setblocking(False)
        for number in range(1, 6):
            await loop.sock_sendall(client, request)
            found = b""
            while not found.endswith(b"}"):
                found += await loop.sock_recv(client, 1 << 16)
            assert found.startswith(b"HTTP/1.1 200")
            assert data_segments_in(client) == number


@pytest.mark.parametrize("verb", ["filter", "prioritize", "bind", "preempt"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"Pod": 5}', b"\xff\xfe", b"null", b"{}" * 3])
async def test_a_broken_question_is_answered_by_a_sentence(world: World, verb: str, body: bytes) -> None:
    status, found = await asked(await started(world), verb, body)
    assert status == 200
    assert ": found " in found["Error"]
    assert "; expected " in found["Error"]


async def test_a_body_that_is_too_large_is_answered_by_both_numbers(world: World) -> None:
    at = await started(world, replace(QUICK, extender_body_bytes=1000))
    status, found = await asked(at, "filter", b"x" * 2000)
    assert (status, "2000 bytes" in found["Error"], "at most 1000" in found["Error"]) == (200, True, True)


async def test_an_answer_that_takes_too_long_is_a_sentence_before_the_scheduler_gives_up(world: World) -> None:
    at = await started(world, replace(QUICK, extender_deadline_s=0.6))
    pod = plain(world)
    world.server.fail(Stall(), "POST", "/binding", 100)
    status, found = await asked(at, "bind", json.dumps(binding(pod, "n1")).encode())
    assert status == 200
    assert "not bound" in found["Error"] or "was not answered within 0.6 s" in found["Error"]


async def test_a_pod_that_only_the_scheduler_knows_yet_is_asked_for_again(world: World) -> None:
    at = await started(world)
    pod = open_pod("new")
    pod["metadata"]["uid"] = "new"
    status, found = await asked(at, "filter", json.dumps(question(pod, "n1")).encode())
    assert (status, found) == (200, {"Error": "numaplace: Pod ns/new with UID new is not known, or not yet"})


async def test_a_port_that_is_taken_is_told(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        planner = world.start(settings=ASKED, door=DoorAddress("127.0.0.1", taken.getsockname()[1]))
        with pytest.raises(InputError, match=r"--extender 127\.0\.0\.1:\d+: found .*in use"):
            await planner
    world._tasks.clear()


# --- TLS


class Authority:
    """Certificates in files, as a Secret would show them."""

    def __init__(self, folder: Path) -> None:
        self.ca, self.folder = trustme.CA(), folder
        self.renew()
        (folder / "ca.pem").write_bytes(self.ca.cert_pem.bytes())

    def renew(self) -> None:
        issued = self.ca.issue_cert("127.0.0.1", "127.0.0.2")
        self._put("tls.key", issued.private_key_pem.bytes())
        self._put("tls.crt", b"".join(one.bytes() for one in issued.cert_chain_pems))

    def _put(self, name: str, content: bytes) -> None:
        new = self.folder / f"{name}.new"
        new.write_bytes(content)
        new.replace(self.folder / name)

    def files(self, *, clients: bool = False) -> TlsFiles:
        authorities = self.folder / "ca.pem" if clients else None
        return TlsFiles(self.folder / "tls.crt", self.folder / "tls.key", authorities)

    def client(self, *, known: bool = True) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        if known:
            self.ca.issue_cert("scheduler").configure_cert(context)
        return context


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def seen_certificate(at: DoorAddress, context: ssl.SSLContext) -> bytes:
    """The certificate that is shown there, once somebody listens."""
    while True:
        try:
            _, writer = await asyncio.open_connection(at.host, at.port, ssl=context)
        except OSError:
            await asyncio.sleep(0.01)
            continue
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        await writer.wait_closed()
        assert isinstance(found, bytes)
        return found


async def test_a_certificate_that_is_replaced_is_shown_and_open_connections_stay(
    world: World, authority: Authority
) -> None:
    at = await started(world, tls=authority.files())
    trusting = authority.client(known=False)
    body = json.dumps(question(plain(world), "n1")).encode()
    first = await seen_certificate(at, trusting)
    async with aiohttp.ClientSession() as session:
        url = f"https://{at.host}:{at.port}/v1/filter"
        async with session.post(url, data=body, ssl=trusting) as response:
            assert await response.json() == {"NodeNames": ["n1"]}
        authority.renew()
        async with asyncio.timeout(10):
            while await seen_certificate(at, trusting) == first:
                await asyncio.sleep(0.01)
        async with session.post(url, data=body, ssl=trusting) as response:
            assert await response.json() == {"NodeNames": ["n1"]}
            transport = response.connection.transport if response.connection else None
            assert transport is None or transport.get_extra_info("ssl_object").getpeercert(binary_form=True) == first


async def test_a_certificate_that_is_broken_is_not_taken_up(
    world: World, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    at = await started(world, tls=authority.files())
    trusting = authority.client(known=False)
    first = await seen_certificate(at, trusting)
    (authority.folder / "tls.crt").write_text("broken")
    await world.until(lambda: "certificates of the extender face were not renewed" in caplog.text)
    assert await seen_certificate(at, trusting) == first


async def test_only_those_whom_the_authorities_know_may_ask(world: World, authority: Authority) -> None:
    at = await started(world, tls=authority.files(clients=True))
    await seen_certificate(at, authority.client())
    body = json.dumps(question(plain(world), "n1")).encode()
    assert await asked(at, "filter", body, authority.client()) == (200, {"NodeNames": ["n1"]})
    with pytest.raises(aiohttp.ClientError):
        await asked(at, "filter", body, authority.client(known=False))


def test_files_that_cannot_be_used_are_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tls\.crt with .*tls\.key: found .*; expected a certificate chain"):
        TlsFiles(tmp_path / "tls.crt", tmp_path / "tls.key").serving()
    authority = Authority(tmp_path)
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(InputError, match=r"ca\.pem: found .*; expected certificates as PEM"):
        authority.files(clients=True).serving()


# --- two planners


@pytest.mark.parametrize("secured", [False, True], ids=["plain", "TLS"])
async def test_a_planner_that_stands_by_passes_questions_on(world: World, authority: Authority, secured: bool) -> None:
    """On two addresses of this machine, since planners find each other by address and listen on one port."""
    tls = authority.files(clients=True) if secured else None
    first = door("127.0.0.1", tls=tls)
    second = replace(first, host="127.0.0.2")
    client = authority.client() if secured else None
    pages = door()
    leader = world.start(settings=ASKED, name="first", address=Address("127.0.0.1", pages.port), door=first)
    world.add(open_pod("p"), open_pod("q"))
    await world.until(lambda: bool(world.pod("q")["status"].get("nominatedNodeName")))
    world.start(settings=ASKED, name="second", address=Address("127.0.0.2", pages.port), door=second)
    if secured:
        await seen_certificate(second, authority.client())

    async def passed(verb: str, about: dict[str, Any]) -> dict[str, Any]:
        async with asyncio.timeout(20):
            while True:
                try:
                    status, found = await asked(second, verb, json.dumps(about).encode(), client)
                except aiohttp.ClientError:
                    await asyncio.sleep(0.02)
                    continue
                assert status == 200
                if "has not listed" not in found.get("Error", ""):
                    assert isinstance(found, dict)
                    return found
                await asyncio.sleep(0.02)

    pod = world.pod("p")
    answer = await passed("filter", question(pod, "n1", "n2"))
    (node,) = answer["NodeNames"]
    assert await passed("bind", binding(pod, node)) == {"Error": ""}
    assert allocation_of(world.pod("p"))["node"] == world.pod("p")["spec"]["nodeName"] == node
    await world.kill(leader)
    other = world.pod("q")
    async with asyncio.timeout(20):
        while True:  # the second one plans as soon as it has the Lease
            answer = await passed("filter", question(other, "n1", "n2"))
            if answer.get("NodeNames"):
                break
            await asyncio.sleep(0.02)


async def test_a_scheduler_goes_on_with_the_planner_that_is_left(world: World) -> None:
    first = door("127.0.0.1")
    second = replace(first, host="127.0.0.2")
    leader = world.start(settings=ASKED, name="first", address=Address("127.0.0.1", 1 + first.port), door=first)
    await answers(world, first)
    world.start(settings=ASKED, name="second", address=Address("127.0.0.2", 1 + first.port), door=second)
    async with asking(world, second):
        world.add(gated("p"))
        await world.until_bound("p")
        await world.kill(leader)
        world.add(gated("q"))
        await world.until_bound("q")

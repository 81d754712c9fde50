"""What goes wrong on the way is tried again where that is safe, and told truthfully where it is not."""

import ssl

import pytest
import trustme

from numaplace.adapters.kube import (
    AnswerLostError,
    BusyError,
    ConflictError,
    DeniedError,
    InvalidError,
    Kube,
    Patience,
    UnreachableError,
    UntrustedError,
    merge,
)
from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.credentials import Credential, Fixed
from numaplace.adapters.kube.fake import Answer, DropRequest, FakeServer, LoseAnswer, Stall
from numaplace.adapters.kube.resources import CONFIG_MAPS
from tests.adapters.kube.conftest import Sleeps
from tests.adapters.kube.contract import config_map, decoded

COUNTED = {"metadata": {"name": "a"}, "data": {"n": "1"}}


async def test_a_busy_server_is_asked_again_when_it_said(server: FakeServer, kube: Kube, sleeps: Sleeps) -> None:
    server.fail(Answer(429, "TooManyRequests", retry_after_s=7), times=2)
    await kube.create(CONFIG_MAPS, config_map("a"), "default")
    assert len(sleeps) == 2
    assert min(sleeps) >= 7
    assert [one.method for one in server.asked] == ["POST", "POST", "POST"]


async def test_patience_ends(server: FakeServer, kube: Kube, sleeps: Sleeps) -> None:
    server.fail(Answer(429, retry_after_s=61), times=9)
    with pytest.raises(BusyError) as caught:
        await kube.create(CONFIG_MAPS, config_map("a"), "default")
    assert (caught.value.code, caught.value.retry_after_s, sleeps) == (429, 61, [])


@pytest.mark.parametrize("code", [500, 502, 503, 504])
async def test_a_read_survives_a_server_that_fails_for_a_while(server: FakeServer, kube: Kube, code: int) -> None:
    await kube.create(CONFIG_MAPS, config_map("a"), "default")
    server.fail(Answer(code), "GET", times=3)
    assert decoded(await kube.get(CONFIG_MAPS, "a", "default"))["metadata"]["name"] == "a"


@pytest.mark.parametrize("effect", [LoseAnswer(), DropRequest()])
async def test_a_write_without_an_answer_is_not_repeated(
    server: FakeServer, kube: Kube, effect: LoseAnswer | DropRequest
) -> None:
    server.fail(effect, "POST")
    with pytest.raises(AnswerLostError, match="POST /api/v1/namespaces/default/configmaps"):
        await kube.create(CONFIG_MAPS, config_map("a"), "default")
    assert len(server.asked) == 1


async def test_a_write_that_failed_inside_the_server_is_not_repeated(server: FakeServer, kube: Kube) -> None:
    server.fail(Answer(500), "POST")
    with pytest.raises(BusyError):
        await kube.create(CONFIG_MAPS, config_map("a"), "default")
    assert len(server.asked) == 1


async def test_a_patch_is_repeated_where_the_caller_allows_it(server: FakeServer, kube: Kube) -> None:
    await kube.create(CONFIG_MAPS, COUNTED, "default")
    server.fail(LoseAnswer(), "PATCH", times=2)
    change = merge({"data": {"n": "2"}})
    answer = await kube.patch(CONFIG_MAPS, "a", change, "default", repeatable=True)
    assert decoded(answer)["data"] == {"n": "2"}
    server.fail(LoseAnswer(), "PATCH")
    with pytest.raises(AnswerLostError):
        await kube.patch(CONFIG_MAPS, "a", change, "default")


async def test_a_replacement_whose_answer_is_lost_is_a_conflict_or_lost_never_done_twice(
    server: FakeServer, kube: Kube
) -> None:
    old = decoded(await kube.create(CONFIG_MAPS, COUNTED, "default"))
    server.fail(LoseAnswer(), "PUT")
    with pytest.raises((AnswerLostError, ConflictError)):
        await kube.replace(CONFIG_MAPS, "a", {**old, "data": {"n": "2"}}, "default")
    now = decoded(await kube.get(CONFIG_MAPS, "a", "default"))
    assert now["data"] == {"n": "2"}
    assert int(now["metadata"]["resourceVersion"]) == int(old["metadata"]["resourceVersion"]) + 1


async def test_a_server_that_never_answers_is_given_up(server: FakeServer) -> None:
    server.fail(Stall(), "POST")
    async with Kube(server.access(), patience=Patience(call_s=1.0, attempt_s=0.05)) as kube:
        with pytest.raises(AnswerLostError):
            await kube.create(CONFIG_MAPS, config_map("a"), "default")


async def test_a_write_to_a_server_that_is_not_up_yet_waits_for_it() -> None:
    async with FakeServer() as gone:
        access = gone.access()
    late = FakeServer(port=gone.port)

    async def until_it_is_up(_: float) -> None:
        await late.__aenter__()

    async with Kube(access, sleep=until_it_is_up) as kube:
        await kube.create(CONFIG_MAPS, config_map("a"), "default")
    await late.__aexit__(None, None, None)
    assert len(late.asked) == 1


async def test_nobody_at_the_address_is_unreachable(sleeps: Sleeps) -> None:
    async with FakeServer() as gone:
        access = gone.access()
    async with Kube(access, patience=Patience(call_s=0.0), sleep=sleeps) as kube:
        with pytest.raises(UnreachableError):
            await kube.create(CONFIG_MAPS, config_map("a"), "default")


async def test_a_refused_credential_is_renewed_once(server: FakeServer) -> None:
    server.tokens = {"new"}
    renewing = Renewing()
    async with Kube(Access(f"http://127.0.0.1:{server.port}", renewing)) as kube:
        await kube.create(CONFIG_MAPS, config_map("a"), "default")
        server.tokens = set()
        with pytest.raises(DeniedError, match="401"):
            await kube.get(CONFIG_MAPS, "a", "default")
    assert [one.method for one in server.asked] == ["POST", "POST", "GET", "GET"]


class Renewing:
    """An old token, then new ones."""

    token = "old"

    async def current(self) -> Credential:
        return Credential(self.token)

    def refused(self, credential: Credential) -> None:
        self.token = "new"


async def test_a_text_that_is_no_status_is_told_as_it_is(server: FakeServer, kube: Kube) -> None:
    server.fail(Answer(400, message="what a proxy says"))
    with pytest.raises(InvalidError, match="what a proxy says"):
        await kube.get(CONFIG_MAPS, "a", "default")


async def test_answers_come_uncompressed(server: FakeServer, kube: Kube) -> None:
    await kube.create(CONFIG_MAPS, config_map("a"), "default")
    assert [one.accepted_encoding for one in server.asked] == ["identity"]


# --- TLS


def served(authority: trustme.CA, name: str) -> FakeServer:
    """A server whose certificate carries `name`, and which wants a certificate of the same authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return FakeServer(tls=context)


def shown(leaf: trustme.LeafCert) -> Credential:
    chain = b"".join(one.bytes() for one in leaf.cert_chain_pems)
    return Credential(certificate=(chain, leaf.private_key_pem.bytes()))


async def test_client_certificates_and_the_server_name_are_used() -> None:
    authority = trustme.CA()
    trusted = authority.cert_pem.bytes()
    ours = Fixed(shown(authority.issue_cert("planner@example.org", common_name="planner")))
    async with served(authority, "kubernetes.default") as server:
        address = f"https://127.0.0.1:{server.port}"
        right = Access(address, ours, authorities=trusted, server_name="kubernetes.default")
        async with Kube(right) as kube:
            await kube.create(CONFIG_MAPS, config_map("a"), "default")
        for wrong in (
            Access(address, ours, authorities=trusted),  # the certificate is not that of 127.0.0.1
            Access(address, ours, authorities=trustme.CA().cert_pem.bytes(), server_name="kubernetes.default"),
        ):
            async with Kube(wrong) as kube:
                with pytest.raises(UntrustedError):
                    await kube.get(CONFIG_MAPS, "a", "default")
        async with Kube(Access(address, ours, verify=False)) as kube:
            await kube.get(CONFIG_MAPS, "a", "default")


async def test_certificates_that_are_none_are_told() -> None:
    access = Access("https://127.0.0.1:1", Fixed(Credential(certificate=(b"no", b"pem"))))
    async with Kube(access) as kube:
        with pytest.raises(UntrustedError, match="the certificates cannot be used"):
            await kube.get(CONFIG_MAPS, "a", "default")

"""Where the planner listens: one address, or all of them, of whatever IP families there are."""

import socket

import pytest

from numaplace.model.errors import InputError
from numaplace.services.planner import Address
from numaplace.services.planner.listening import listening
from tests.services.planner.world import nodes_of, world_of


def reached(port: int, *hosts: str) -> list[str]:
    for host in hosts:
        socket.create_connection((host, port), timeout=5).close()
    return list(hosts)


def loopback() -> list[str]:
    """The addresses of loopback that this machine has."""
    with socket.socket(socket.AF_INET6) as six:
        try:
            six.bind(("::1", 0))
        except OSError:
            return ["127.0.0.1"]
    return ["127.0.0.1", "::1"]


def test_everywhere_is_every_address_of_both_families() -> None:
    with listening("--listen", "::", 0) as at:
        assert reached(at.getsockname()[1], *loopback())


def test_everywhere_is_every_address_where_there_is_no_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    with listening("--listen", "::", 0) as at:
        assert at.family == socket.AF_INET
        assert reached(at.getsockname()[1], "127.0.0.1", "127.0.0.2")


def test_one_address_is_no_other() -> None:
    with listening("--listen", "127.0.0.1", 0) as at, pytest.raises(OSError, match="refused"):
        reached(at.getsockname()[1], "127.0.0.2")


def test_an_address_of_another_machine_is_told() -> None:
    with pytest.raises(InputError, match=r"^--extender \[2001:db8::1\]:8481: found .*; expected an address of this"):
        listening("--extender", "2001:db8::1", 8481)


async def test_a_planner_whose_port_is_taken_ends_with_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with world_of(nodes_of()) as world:
            with pytest.raises(InputError, match=rf"^--listen 127\.0\.0\.1:{port}: found .*in use"):
                await world.start(address=Address("127.0.0.1", port))
            world._tasks.clear()

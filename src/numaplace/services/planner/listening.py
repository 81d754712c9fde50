"""The sockets on which the planner listens, for people and for schedulers."""

import socket

from numaplace.model.errors import InputError


def listening(option: str, host: str, port: int) -> socket.socket:
    """A socket at one address of this machine; `::` is all of them, of both IP families or of the one there is.

    InputError, which names the option, when the address is not ours or not free.
    """
    everywhere = host == "::"
    both = everywhere and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or (":" in host and not everywhere) else socket.AF_INET
    try:
        return socket.create_server(("" if everywhere else host, port), family=family, backlog=128, dualstack_ipv6=both)
    except OSError as error:
        where = f"{option} {f'[{host}]' if ':' in host else host}:{port}"
        raise InputError(where, found=str(error), wanted="an address of this machine that is free") from error

"""`numaplace planner`: the planner of a cluster, for as long as the process lives."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path

import click
import msgspec

from numaplace.adapters.kube import Access
from numaplace.model.errors import InputError
from numaplace.model.settings import Settings
from numaplace.services.planner import LEASE, Address, DoorAddress, Limits, Seat, Times, TlsFiles, serve
from numaplace.services.planner.logs import log_to_stderr
from numaplace.tools.cli.access import access_options, lease_key
from numaplace.tools.cli.settings import is_written, settings_options

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

_DEFAULTS, _TIMES = Limits(), Times()
_PATH = click.Path(path_type=Path)
_SECONDS, _MORE_THAN_ONE = click.FloatRange(0.1, 1e6), click.FloatRange(1.0, 1e6)

# Where it is and who: option, default, form, help.
_NAMES = (
    ("--listen", "127.0.0.1:8480", "HOST:PORT", "Where pages are shown; [::] is every address, of both IP families."),
    ("--advertise", "", "HOST:PORT", "Where other planners reach the pages.  [default: as --listen]"),
    ("--lease", "", "NAMESPACE/NAME", f"Lease of the planner that plans.  [default: {LEASE}]"),
    ("--name", "", "TEXT", "Name of this planner in the Lease.  [default: the host's name]"),
    (
        "--extender",
        "",
        "HOST:PORT",
        "Where kube-scheduler may ask about Pods with cards; without it those get a pin, like all others.",
    ),
)
# What Limits hold, with their defaults: option, type, the field, help.
_LIMITS = (
    (
        "--outstanding",
        click.IntRange(1, 10_000),
        "outstanding",
        "Plans that may be on their way to the scheduler at one time.",
    ),
    ("--silent", _SECONDS, "silent_s", "Silence after which an agent's report is stale."),
    ("--stuck", _SECONDS, "stuck_s", "How long the scheduler may refuse a planned node."),
    ("--aside", _SECONDS, "aside_s", "How long a node is left alone after a plan failed there."),
    ("--extender-deadline", _SECONDS, "extender_deadline_s", "Longest answer; below the scheduler's httpTimeout."),
    (
        "--ungate-after",
        _MORE_THAN_ONE,
        "ungate_after_s",
        "Let Pods with cards that wait longer leave the gate, so that autoscalers see them; needs --extender.",
    ),
)
# What means nothing without --extender, by its name as a parameter.
_OF_THE_EXTENDER = (
    "extender_deadline",
    "extender_for",
    "extender_pins",
    "extender_tls",
    "extender_clients",
    "ungate_after",
)


def _limits_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `_LIMITS`; the command gets `limits`."""

    @wraps(command)
    def limited(**said: object) -> None:
        values = {field: said.pop(option.removeprefix("--").replace("-", "_")) for option, _, field, _ in _LIMITS}
        command(limits=msgspec.convert(values, Limits), **said)

    for option, kind, field, text in reversed(_LIMITS):
        default = getattr(_DEFAULTS, field)
        metavar = None if isinstance(default, int) else "SECONDS"
        limited = click.option(option, type=kind, default=default, show_default=True, metavar=metavar, help=text)(
            limited
        )
    return limited


def _names_options(command: Callable[..., None]) -> Callable[..., None]:
    for option, default, metavar, text in reversed(_NAMES):
        shown = bool(default)
        command = click.option(option, default=default, show_default=shown, metavar=metavar, help=text)(command)
    return command


@click.command()
@access_options
@_names_options
@_limits_options
@click.option(
    "--lease-duration",
    type=click.IntRange(2, 3600),
    default=_TIMES.lease_s,
    show_default=True,
    metavar="SECONDS",
    help="Silence of the planner that plans after which another one takes over.",
)
@click.option(
    "--release-grace",
    type=click.FloatRange(0.0, 1e6),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long an ended Pod's devices stay taken without word from the agent.",
)
@click.option(
    "--extender-for",
    multiple=True,
    default=["default-scheduler"],
    show_default=True,
    metavar="NAME",
    help="Scheduler (spec.schedulerName) whose configuration names the extender; may be given again.",
)
@click.option(
    "--extender-pins",
    is_flag=True,
    help="Let their Pods leave the gate with a pin: fewer writes, but no other node if the planned one is refused.",
)
@click.option(
    "--extender-tls",
    type=(_PATH, _PATH),
    default=None,
    metavar="CERTIFICATE KEY",
    help="PEM files; read again when they are replaced.",
)
@click.option(
    "--extender-clients", type=_PATH, metavar="FILE", help="PEM authorities of those who may ask; needs --extender-tls."
)
@click.option("--verbose", is_flag=True, help="Log more.")
@settings_options
def planner(
    access: Access,
    listen: str,
    advertise: str,
    lease: str,
    name: str,
    extender: str,
    limits: Limits,
    lease_duration: int,
    release_grace: float,
    extender_for: tuple[str, ...],
    extender_pins: bool,
    extender_tls: tuple[Path, Path] | None,
    extender_clients: Path | None,
    verbose: bool,
    settings: Settings,
) -> None:
    """Give the Pods that wait at the gate numaplace.dev/plan their places, until told to end.

    The cluster is found as kubectl finds it; in a Pod without a kubeconfig its service account is used.
    """
    door = _door(extender, extender_tls, extender_clients)
    settings = replace(
        settings,
        release_grace_s=release_grace,
        extender_for=() if door is None else extender_for,
        extender_pins=extender_pins,
    )
    known_as = _address("--advertise", advertise).known_as if advertise else ""
    address = replace(_address("--listen", listen), advertised=known_as)
    seat = Seat(lease_key(lease or f"{access.namespace}/{LEASE}"), name, Times.of(lease_duration))
    log_to_stderr(verbose=verbose)
    asyncio.run(serve(access, settings, limits, address, seat, door))


def _door(text: str, tls: tuple[Path, Path] | None, clients: Path | None) -> DoorAddress | None:
    if not text:
        for option in filter(is_written, _OF_THE_EXTENDER):
            wanted = "--extender HOST:PORT beside it, since it is about those who ask there"
            raise InputError(f"--{option.replace('_', '-')}", found="no --extender", wanted=wanted)
        return None
    if clients is not None and tls is None:
        raise InputError(
            "--extender-clients", found="no --extender-tls", wanted="both, since it is TLS that tells who asks"
        )
    address = _address("--extender", text)
    return DoorAddress(address.host, address.port, None if tls is None else TlsFiles(*tls, clients))


def _address(option: str, text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(option, found=repr(text[:60]), wanted="HOST:PORT")
    return Address(host.strip("[]"), int(port))

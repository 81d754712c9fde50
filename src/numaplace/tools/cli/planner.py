"""`numaplace planner`: the planner of a cluster, for as long as the process lives."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from numaplace.model.errors import InputError
from numaplace.model.settings import Settings
from numaplace.tools.cli.settings import settings_options

try:
    from numaplace.adapters.kube import Access, Key
    from numaplace.services.planner import LEASE, Address, DoorAddress, Limits, Seat, Times, TlsFiles, serve
    from numaplace.services.planner.logs import log_to_stderr
    from numaplace.tools.cli.access import access_options
except ModuleNotFoundError as error:
    raise InputError(
        "numaplace planner", found=f"no package {error.name}", wanted="pip install numaplace[planner]"
    ) from None

_DEFAULTS, _TIMES = Limits(), Times()
_PATH = click.Path(path_type=Path)


def _seconds(name: str, default_s: float, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        name, type=click.FloatRange(0.1, 1e6), default=default_s, show_default=True, metavar="SECONDS", help=text
    )


@click.command()
@access_options
@click.option(
    "--listen",
    default="127.0.0.1:8480",
    show_default=True,
    metavar="HOST:PORT",
    help="Where pages are shown; [::] is every address, of both IP families.",
)
@click.option(
    "--advertise", default="", metavar="HOST:PORT", help="Where other planners reach the pages.  [default: as --listen]"
)
@click.option(
    "--lease", default="", metavar="NAMESPACE/NAME", help=f"Lease of the planner that plans.  [default: {LEASE}]"
)
@click.option("--name", default="", help="Name of this planner in the Lease.  [default: the host's name]")
@click.option(
    "--lease-duration",
    type=click.IntRange(2, 3600),
    default=_TIMES.lease_s,
    show_default=True,
    metavar="SECONDS",
    help="Silence of the planner that plans after which another one takes over.",
)
@click.option(
    "--outstanding",
    type=click.IntRange(1, 10_000),
    default=_DEFAULTS.outstanding,
    show_default=True,
    help="Plans that may be on their way to the scheduler at one time.",
)
@_seconds("--silent", _DEFAULTS.silent_s, "Silence after which an agent's report is stale.")
@_seconds("--stuck", _DEFAULTS.stuck_s, "How long the scheduler may refuse a planned node.")
@_seconds("--aside", _DEFAULTS.aside_s, "How long a node is left alone after a plan failed there.")
@click.option(
    "--release-grace",
    type=click.FloatRange(0.0, 1e6),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long an ended Pod's devices stay taken without word from the agent.",
)
@click.option(
    "--extender",
    default="",
    metavar="HOST:PORT",
    help="Where kube-scheduler may ask about Pods with cards; without it those get a pin, like all others.",
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
@_seconds("--extender-deadline", _DEFAULTS.extender_deadline_s, "Longest answer; below the scheduler's httpTimeout.")
@click.option(
    "--ungate-after",
    type=click.FloatRange(1.0, 1e6),
    metavar="SECONDS",
    help="Let Pods with cards that wait longer leave the gate, so that autoscalers see them; needs --extender.",
)
@click.option("--verbose", is_flag=True, help="Log more.")
@settings_options
def planner(
    access: Access,
    listen: str,
    advertise: str,
    lease: str,
    name: str,
    lease_duration: int,
    outstanding: int,
    silent: float,
    stuck: float,
    aside: float,
    release_grace: float,
    extender: str,
    extender_for: tuple[str, ...],
    extender_pins: bool,
    extender_tls: tuple[Path, Path] | None,
    extender_clients: Path | None,
    extender_deadline: float,
    ungate_after: float | None,
    verbose: bool,
    settings: Settings,
) -> None:
    """Give the Pods that wait at the gate numaplace.dev/plan their places, until told to end.

    Inside a cluster the service account of the Pod is used, elsewhere a kubeconfig.
    """
    door = _door(extender, extender_tls, extender_clients)
    settings = replace(
        settings,
        release_grace_s=release_grace,
        extender_for=() if door is None else extender_for,
        extender_pins=extender_pins,
    )
    limits = replace(
        _DEFAULTS,
        outstanding=outstanding,
        silent_s=silent,
        stuck_s=stuck,
        aside_s=aside,
        extender_deadline_s=extender_deadline,
        ungate_after_s=ungate_after,
    )
    if door is None and ungate_after is not None:
        wanted = "--extender beside it: without it a Pod that left the gate would go anywhere"
        raise InputError("--ungate-after", found=f"{ungate_after:g}", wanted=wanted)
    known_as = _address("--advertise", advertise).known_as if advertise else ""
    address = replace(_address("--listen", listen), advertised=known_as)
    seat = Seat(_lease(lease, access.namespace), name, Times.of(lease_duration))
    log_to_stderr(verbose=verbose)
    asyncio.run(serve(access, settings, limits, address, seat, door))


def _door(text: str, tls: tuple[Path, Path] | None, clients: Path | None) -> DoorAddress | None:
    if clients is not None and tls is None:
        raise InputError(
            "--extender-clients", found="no --extender-tls", wanted="both, since it is TLS that tells who asks"
        )
    if not text:
        return None
    address = _address("--extender", text)
    return DoorAddress(address.host, address.port, None if tls is None else TlsFiles(*tls, clients))


def _lease(text: str, namespace: str) -> Key:
    parts = text.split("/") if text else [namespace, LEASE]
    if len(parts) != 2 or not all(parts):
        raise InputError("--lease", found=repr(text[:60]), wanted="NAMESPACE/NAME")
    return Key(*parts)


def _address(option: str, text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(option, found=repr(text[:60]), wanted="HOST:PORT")
    return Address(host.strip("[]"), int(port))

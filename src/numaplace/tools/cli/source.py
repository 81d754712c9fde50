"""Options that say which cluster is looked at: one that runs, or a capture of one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path

import click

from numaplace.model.errors import InputError
from numaplace.model.settings import Settings
from numaplace.tools.cli.files import read_text
from numaplace.tools.cli.settings import settings_options
from numaplace.wire.cluster import ClusterObjects, decode_cluster

try:
    from numaplace.services.planner import Limits
    from numaplace.tools.cli.access import find_access, with_access_options
    from numaplace.tools.live.capturing import Capture
    from numaplace.tools.live.reading import Reading, booked, read_cluster
except ModuleNotFoundError as error:
    raise InputError(
        "numaplace", found=f"no package {error.name}", wanted="pip install numaplace[planner] for commands on a cluster"
    ) from None


@dataclass(frozen=True, slots=True)
class Source:
    """A cluster to look at."""

    read: Callable[[], ClusterObjects]
    write_down: Callable[[Capture], None]  # the same, object by object
    settings: Settings
    limits: Limits
    namespace: str  # that of the context

    def reading(self) -> Reading:
        """Everything there is, in the planner's book."""
        return booked(self.read(), self.settings, self.limits)


def _from_file(path: str, settings: Settings, limits: Limits) -> Source:
    def read() -> ClusterObjects:
        return decode_cluster(read_text(path), path)

    return Source(read, lambda capture: capture.take_all(read()), settings, limits, "default")


def source_options(shown: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets `source`, and says itself which namespaces it shows."""

    @wraps(shown)
    def looking(
        *,
        kubeconfig: Path | None,
        context: str | None,
        capture: str | None,
        silent: float,
        settings: Settings,
        **others: object,
    ) -> None:
        limits = Limits(silent_s=silent)
        if capture is not None:
            source = _from_file(capture, settings, limits)
        else:
            access = find_access(kubeconfig, context)
            source = Source(
                lambda: read_cluster(access), lambda capture: capture.list(access), settings, limits, access.namespace
            )
        shown(source=source, **others)

    command: Callable[..., None] = looking
    for option in (
        settings_options,
        click.option(
            "--silent",
            type=click.FloatRange(0.1, 1e6),
            default=Limits().silent_s,
            show_default=True,
            metavar="SECONDS",
            help="As the planner has it: silence after which an agent's report is stale.",
        ),
        click.option(
            "--capture", metavar="FILE", help="Look at a capture (numaplace capture cluster) instead of a cluster."
        ),
    ):
        command = option(command)
    return with_access_options(command)

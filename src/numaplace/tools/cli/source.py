"""Options that say which cluster is looked at: one that runs, or a capture of one."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path

import click

from numaplace.model import keys
from numaplace.model.errors import InputError
from numaplace.model.settings import Settings
from numaplace.services.planner import LEASE, Limits
from numaplace.tools.cli.access import find_access, lease_key, with_access_options
from numaplace.tools.cli.files import read_text
from numaplace.tools.cli.settings import Choice, choice_options, is_written
from numaplace.tools.live.capturing import Capture
from numaplace.tools.live.reading import Reading, booked, read_cluster
from numaplace.tools.live.told import Word
from numaplace.tools.show.plain import plain
from numaplace.wire.cluster import ClusterObjects, decode_cluster
from numaplace.wire.settings import Told, decode

USUAL_NAMESPACE = "numaplace-system"  # where the how-to installs the chart


@dataclass(frozen=True, slots=True)
class Source:
    """A cluster to look at, as its planner does: its word counts, and before it what the command line says."""

    read: Callable[[], tuple[ClusterObjects, Word]]
    write_down: Callable[[Capture], None]  # the same, object by object
    namespace: str  # that of the context
    choice: Choice
    silent_s: float | None  # None: not written on the command line
    notes: list[str] = field(default_factory=list)  # what is to be said when all is done

    def reading(self) -> Reading:
        """Everything there is, in the planner's book."""
        objects, word = self.read()
        told = self._told(word)
        return booked(objects, told.settings, Limits(silent_s=told.silent_s))

    def settle(self, word: Word) -> Settings:
        """The settings by which the cluster is looked at."""
        return self._told(word).settings

    def _told(self, word: Word) -> Told:
        told, missing = Told(Settings(), Limits().silent_s), word.missing
        try:
            told = decode(word.text, keys.SETTINGS) if word.text else told
        except InputError as error:
            missing = str(error)
        if missing:
            self.notes.append(f"no planner says how it is set up ({missing}); the options of this command count")
        return Told(self.choice.over(told.settings), self.silent_s or told.silent_s)


def _read_file(path: str) -> tuple[ClusterObjects, Word]:
    objects = decode_cluster(read_text(path), path)
    return objects, Word(objects.told)


def source_options(shown: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets `source`, and says itself which namespaces it shows."""

    @wraps(shown)
    def looking(
        *,
        kubeconfig: Path | None,
        context: str | None,
        capture: str | None,
        lease: str,
        silent: float,
        choice: Choice,
        **others: object,
    ) -> None:
        silent_s = silent if is_written("silent") else None
        if capture is not None:
            source = Source(
                lambda: _read_file(capture),
                lambda target: target.take_all(_read_file(capture)[0]),
                "default",
                choice,
                silent_s,
            )
        else:
            access, key = find_access(kubeconfig, context), lease_key(lease)
            source = Source(
                lambda: read_cluster(access, key),
                lambda target: target.list(access, key),
                access.namespace,
                choice,
                silent_s,
            )
        shown(source=source, **others)
        for note in source.notes:
            click.echo(plain(f"note: {note}", sys.stderr.encoding), err=True)

    command: Callable[..., None] = looking
    for option in (
        choice_options,
        click.option(
            "--lease",
            default=f"{USUAL_NAMESPACE}/{LEASE}",
            show_default=True,
            metavar="NAMESPACE/NAME",
            help="Lease of the planner, which tells how it is set up; options given here count before it.",
        ),
        click.option(
            "--silent",
            type=click.FloatRange(0.1, 1e6),
            default=Limits().silent_s,
            show_default=True,
            metavar="SECONDS",
            help="Silence after which an agent's report is stale.",
        ),
        click.option(
            "--capture", metavar="FILE", help="Look at a capture (numaplace capture cluster) instead of a cluster."
        ),
    ):
        command = option(command)
    return with_access_options(command)

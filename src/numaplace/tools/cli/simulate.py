"""`numaplace simulate`: Pods placed on nodes that exist on paper."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState
from numaplace.model.ids import PodUid
from numaplace.model.request import Exclusivity, Policy
from numaplace.model.settings import Settings
from numaplace.tools.cli.files import deliver
from numaplace.tools.cli.map_page import map_page
from numaplace.tools.cli.paper import Input, read_nodes, read_pods
from numaplace.tools.cli.settings import settings_options
from numaplace.tools.report.compare import Run, compare_text
from numaplace.tools.report.document import document_text
from numaplace.tools.report.table import outcome_text
from numaplace.tools.report.totals import totals_of, whole_gpus
from numaplace.tools.show.plain import plain
from numaplace.tools.sim.arrivals import Intake, intake_of
from numaplace.tools.sim.contenders import AGAINST, contender
from numaplace.tools.sim.inflate import inflate
from numaplace.tools.sim.play import Progress, play
from numaplace.tools.sim.replay import replayed, undecided
from numaplace.wire.trace import TracedPod, wishes_for

LONG_RUN = 500  # Pods from which on a progress bar is worth its place
OURS = "numaplace"


@click.command()
@click.option(
    "--nodes",
    "node_files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Nodes file, capture, dump of nodes or openb node list; may be repeated.",
)
@click.option(
    "--pods", "pod_files", multiple=True, required=True, metavar="FILE", help="Manifests or a trace; may be repeated."
)
@click.option(
    "--against",
    multiple=True,
    type=click.Choice(AGAINST),
    help="Replay the same input another way and compare; may be repeated.",
)
@click.option("-o", "--output", type=click.Choice(["table", "json", "html"]), default="table", show_default=True)
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write there instead of to standard output.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Decide again for the Pods of a captured cluster that numaplace placed, in the order in which it did.",
)
@click.option("--scores", is_flag=True, help="Show the parts of each Pod's score.")
@click.option(
    "--policy",
    type=click.Choice([one.value for one in Policy if one is not Policy.NONE]),
    default=Policy.RESTRICTED.value,
    show_default=True,
    help="Policy of a trace's Pods that name none.",
)
@click.option(
    "--exclusive",
    type=click.Choice([one.value for one in Exclusivity]),
    default=Exclusivity.PREFERRED.value,
    show_default=True,
    help="Their singleNUMANodeExclusive.",
)
@click.option(
    "--inflate",
    "ratio",
    type=click.FloatRange(0.01, 100),
    metavar="RATIO",
    help="Draw the GPU Pods of a trace again until they ask this many times the GPUs there are.",
)
@click.option(
    "--seed",
    type=int,
    default=42,
    show_default=True,
    help="Decides the order of --inflate, and ties of the schedulers compared with.",
)
@settings_options
def simulate(
    node_files: tuple[str, ...],
    pod_files: tuple[str, ...],
    against: tuple[str, ...],
    output: str,
    to: Path | None,
    replay: bool,
    scores: bool,
    policy: str,
    exclusive: str,
    ratio: float | None,
    seed: int,
    settings: Settings,
) -> None:
    """Place Pods on described nodes: who gets what, who gets nothing and why.

    Pods of manifests are decided by priority, then age, then name; those of a trace when they arrive.
    """
    paper = _read(node_files, pod_files, policy, exclusive, ratio, seed, replay, settings)
    runs = [_run(name, paper, settings, seed) for name in (OURS, *dict.fromkeys(against))]
    text = _shown(runs, output, settings, scores=scores)
    deliver(text, to)


@dataclass(frozen=True, slots=True)
class _Paper:
    """What is played: the nodes, the Pods, and what of the input is not there."""

    state: ClusterState
    intake: Intake
    notes: tuple[str, ...]
    recorded: Mapping[PodUid, Allocation] | None  # of a replay


def _read(
    node_files: Sequence[str],
    pod_files: Sequence[str],
    policy: str,
    exclusive: str,
    ratio: float | None,
    seed: int,
    replay: bool,
    settings: Settings,
) -> _Paper:
    cluster = read_nodes(node_files, settings)
    nodes = tuple(cluster.state.nodes.values())
    wishes = wishes_for(policy, exclusive)
    given = read_pods(pod_files, nodes, wishes, settings)
    notes = [*cluster.notes, *given.notes]
    pods: Sequence[TracedPod] = given.pods
    if any(one.pod.annotations is wishes.annotations for one in given.pods):
        notes.append(
            f"Pods of a trace that ask GPUs and name no policy: {policy}, {exclusive}, CPUs shared in their domains"
        )
    if ratio is not None:
        gpus = sum(whole_gpus(node, settings) for node in nodes)
        pods = _inflated(given, gpus, ratio, seed, settings)
        notes.append(
            f"{len(pods):,} Pods with GPUs, drawn with seed {seed} until they ask {ratio:g} × {gpus:,} GPUs; all stay"
        )
    recorded = None
    if replay:
        pods, recorded = undecided(pods)
    catalog = cluster.catalog(given.entries)
    intake = intake_of(((one.pod, one.arrives_s, one.leaves_s) for one in pods), settings, catalog)
    return _Paper(cluster.state, intake, (*notes, *intake.notes), recorded)


def _inflated(given: Input, gpus: int, ratio: float, seed: int, settings: Settings) -> tuple[TracedPod, ...]:
    def gpus_of(one: TracedPod) -> int:
        return sum(container.request_milli(settings.gpu_resource) // 1000 for container in one.pod.containers)

    return inflate(given.pods, gpus_of, gpus=gpus, ratio=ratio, seed=seed)


def _run(name: str, paper: _Paper, settings: Settings, seed: int) -> Run:
    """Play the whole input once."""
    with _progress(name, len(paper.intake.arrivals)) as progress:
        started = time.perf_counter()
        outcome = play(paper.intake.arrivals, contender(name, paper.state, settings, seed), progress)
        elapsed_s = time.perf_counter() - started
    outcome = replace(
        outcome,
        unplaced=paper.intake.invalid + outcome.unplaced,
        replayed=None if paper.recorded is None else replayed(outcome, paper.recorded),
        notes=paper.notes,
        elapsed_s=elapsed_s,
    )
    return outcome, totals_of(outcome, settings)


@contextmanager
def _progress(name: str, pods: int) -> Iterator[Progress | None]:
    """A bar on standard error, where somebody can see it and the run is long."""
    if pods < LONG_RUN or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=pods, label=name, file=sys.stderr) as bar:
        yield bar.update


def _shown(runs: Sequence[Run], output: str, settings: Settings, *, scores: bool) -> str:
    (outcome, totals), *compared = runs
    if output == "json":
        return document_text(outcome, totals, compared)
    if output == "html":
        return map_page(runs, settings)
    text = outcome_text(outcome, totals, scores=scores)
    return plain(f"{text}\n\n{compare_text(runs)}" if compared else text, sys.stdout.encoding)

"""Several runs of one input side by side, numaplace first."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from numaplace.model.words import counted
from numaplace.tools.report.grid import grid
from numaplace.tools.report.outcome import Outcome
from numaplace.tools.report.totals import StillFits, Totals
from numaplace.tools.report.words import share

Run = tuple[Outcome, Totals]


class Measure(NamedTuple):
    """One line of the comparison."""

    name: str
    text: Callable[[Run], str]


def _totals(text: Callable[[Totals], str]) -> Callable[[Run], str]:
    return lambda run: text(run[1])


def _failed(run: Run) -> str:
    outcome, _ = run
    return f"{sum(outcome.failures.values()):,}" if outcome.failures else "–"


def _levels(totals: Totals) -> str:
    return ", ".join(f"{level} {count:,}" for level, count in totals.gpu_hca.items()) or "–"


def _still_fit(size: StillFits) -> Callable[[Run], str]:
    return _totals(lambda totals: f"{next(one.in_one_numa for one in totals.still_fits if one.gpus == size.gpus):,}")


MEASURES = (
    Measure("Pods placed", _totals(lambda totals: f"{totals.placed:,} of {totals.asked:,}")),
    Measure("GPUs taken", _totals(lambda totals: f"{totals.gpus_taken:,} ({share(totals.gpus_taken, totals.gpus)})")),
    Measure("GPU hours", _totals(lambda totals: f"{totals.gpu_seconds / 3600:,.0f}" if totals.gpu_seconds else "–")),
    Measure("Pods aligned", _totals(lambda totals: f"{totals.aligned:,} ({share(totals.aligned, totals.planned)})")),
    Measure("a Pod's GPUs together", _totals(lambda totals: share(totals.gpus_together, totals.multi_gpu))),
    Measure("CPUs beside the GPUs", _totals(lambda totals: share(totals.cpus_beside_gpus, totals.gpu_cpu))),
    Measure("GPU-HCA level", _totals(_levels)),
    Measure("failed at the kubelet", _failed),
)
TIME = Measure("time", lambda run: f"{run[0].elapsed_s:.1f} s")


def compare_rows(runs: Sequence[Run]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows, one column a run; lines that say nothing of any run are left out."""
    sizes = [
        Measure(f"still fit: {counted(size.gpus, 'GPU')}", _still_fit(size)) for size in reversed(runs[0][1].still_fits)
    ]
    rows = [(measure.name, *map(measure.text, runs)) for measure in (*MEASURES, *sizes, TIME)]
    head = ("", *(outcome.contender for outcome, _ in runs))
    return head, [row for row in rows if set(row[1:]) != {"–"}]


def compare_text(runs: Sequence[Run]) -> str:
    """The comparison as a person reads it in a terminal."""
    head, rows = compare_rows(runs)
    return "\n".join(grid(head, rows, right=frozenset(range(1, len(head)))))

"""An Outcome as a person reads it in a terminal: who got what, who did not and why, totals."""

from collections.abc import Iterable, Iterator

from numaplace.model.words import counted
from numaplace.tools.report.grid import grid, indented
from numaplace.tools.report.outcome import Landing, Outcome, Unplaced
from numaplace.tools.report.totals import Totals, still_fits_text
from numaplace.tools.report.words import clock, cpus_text, share, short_names, short_numas, short_pcis

MOST_ROWS = 60  # beyond that nobody reads on; JSON and the map have all
HEAD = ("POD", "NODE", "NUMA", "CPUS", "GPUS", "HCAS", "GPU-HCA", "POLICY")
TIMES_HEAD = ("FROM", "UNTIL")


def outcome_text(outcome: Outcome, totals: Totals, *, scores: bool = False) -> str:
    """The whole report of one run."""
    blocks = [
        _placed(outcome, scores=scores),
        _without_care(outcome),
        _unplaced(outcome.unplaced),
        totals_lines(totals, outcome),
        [f"note: {note}" for note in outcome.notes],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _placed(outcome: Outcome, *, scores: bool) -> list[str]:
    landings = [one for one in outcome.landings if one.allocation is not None]
    if not landings:
        return ["no Pod was placed"] if not outcome.landings else []
    timed = any(one.until_s is not None for one in landings)
    rows = [landing_cells(one) + (times_cells(one) if timed else ()) for one in landings[:MOST_ROWS]]
    lines = grid(HEAD + (TIMES_HEAD if timed else ()), rows)
    if scores:
        lines += ["", *_score_lines(landings[:MOST_ROWS])]
    return lines + _more(len(landings))


def _more(count: int) -> list[str]:
    return [f"… and {count - MOST_ROWS:,} more; -o json and -o html have all of them"] if count > MOST_ROWS else []


def landing_cells(one: Landing) -> tuple[str, ...]:
    """One row under HEAD, of a Pod whose devices were chosen."""
    allocation = one.allocation
    assert allocation is not None
    level = "–" if allocation.gpu_hca is None else allocation.gpu_hca.name
    return (
        one.request.full_name,
        one.node,
        short_numas(allocation.numas),
        cpus_text(allocation),
        short_pcis(gpu.pci for gpu in allocation.gpus) or "–",
        short_names(hca.name for hca in allocation.hcas) or "–",
        level,
        f"{allocation.policy}{'' if one.aligned else ' (not aligned)'}",
    )


def times_cells(one: Landing) -> tuple[str, str]:
    """When it came and went, on the input's clock."""
    return clock(one.at_s), "–" if one.until_s is None else clock(one.until_s)


def _score_lines(landings: Iterable[Landing]) -> Iterator[str]:
    """Each Pod's score and its parts with their reasons."""
    for one in landings:
        yield f"{one.request.full_name} on {one.node}: score {one.score or 0:.3f}"
        rows = [(f"{part.value:.2f} × {part.weight:g}", part.name, part.reason) for part in one.parts]
        yield from indented(grid((), rows))


def _without_care(outcome: Outcome) -> list[str]:
    """Pods that nobody chose devices for."""
    landings = [one for one in outcome.landings if one.allocation is None]
    if not landings:
        return []
    rows = [(one.request.full_name, one.node, _asked(one)) for one in landings[:MOST_ROWS]]
    why = "Placed without NUMA care: counted by node only; which cards and CPUs they get is left to the kubelet"
    return [why, *indented(grid(("POD", "NODE", "ASKS"), rows)), *_more(len(landings))]


def _asked(one: Landing) -> str:
    amounts = one.request.rules.amounts
    cpus = f"{amounts.cpu_milli / 1000:g} CPU{'' if amounts.cpu_milli == 1000 else 's'}" if amounts.cpu_milli else ""
    cards = [f"{amounts.others[name]} {name}" for name in sorted(amounts.others) if "/" in name]
    return ", ".join(filter(None, [cpus, *cards])) or "nothing that is counted"


def _unplaced(unplaced: tuple[Unplaced, ...]) -> list[str]:
    if not unplaced:
        return []
    lines = ["Not placed"]
    kinds = list(alike(unplaced))
    for first, count in kinds[:MOST_ROWS]:
        more = f" and {count - 1:,} more" if count > 1 else ""
        lines.append(f"  {first.name}{more}: {first.refusal.code}")
        if first.reasons:
            lines += [f"    {counted(reason.nodes, 'node')}: {reason.sentence}" for reason in first.reasons]
        else:
            lines.append(f"    {first.refusal.sentence}")
    return lines + _more(len(kinds))


def alike(unplaced: Iterable[Unplaced]) -> Iterator[tuple[Unplaced, int]]:
    """The first of those with one controller (or one sentence), one code and one number of GPUs, and how many."""
    groups: dict[tuple[object, ...], list[Unplaced]] = {}
    for one in unplaced:
        gpus = None if one.request is None else one.request.gpus
        key = (one.owner or one.refusal.sentence.replace(one.name, ""), one.refusal.code, gpus, one.reasons)
        groups.setdefault(key, []).append(one)
    for members in groups.values():
        yield members[0], len(members)


def totals_lines(totals: Totals, outcome: Outcome) -> list[str]:
    """The totals, one a line."""
    used = sum(1 for node in outcome.state.nodes.values() if node.holders)
    there = f"on {used:,} of {counted(totals.nodes, 'node')}"
    rows = [
        ("Pods placed", f"{totals.placed:,} of {totals.asked:,}{'' if outcome.left else f', {there}'}"),
        ("aligned", f"{totals.aligned:,} of {totals.planned:,} ({share(totals.aligned, totals.planned)})"),
        ("GPUs taken", f"{totals.gpus_taken:,} of {totals.gpus:,} ({share(totals.gpus_taken, totals.gpus)})"),
        ("still fit", still_fits_text(totals)),
        ("time", f"{outcome.elapsed_s:.2f} s"),
    ]
    if outcome.replayed is not None:
        rows.insert(1, ("replayed", outcome.replayed.sentence))
    if outcome.left:
        rows.insert(1, ("ended", f"{outcome.left:,}; {totals.placed - outcome.left:,} left, {there}"))
    return grid((), rows)

"""The tables as a page of the documentation: docs/reference/koordinator-cases.md.

`python -m tests.cases.koordinator.page` writes it; a test compares it with the tables.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.cases.koordinator.table import POLICIES, Answer, Case, Table, tables
from tests.recorded import ROOT

PAGE = ROOT / "docs" / "reference" / "koordinator-cases.md"
VERDICTS = ("same", "differs", "no counterpart")

_HEAD = """# Koordinator's cases and numaplace's answers

Koordinator's tests record what its scheduler does in {total} situations. numaplace answers each of those that it
knows as well; every answer below is computed by the test `tests/cases/test_koordinator.py` from a row in
`tests/cases/koordinator`, where the machine and the Pod of the row stand. What the differences mean for people who
migrate is told in [Migrate from Koordinator](../how-to/migrate-from-koordinator.md).

Koordinator's behaviour is that of its sources of July 2026 (commit `a7a1b76b`). GPUs and HCAs are counted from 0 in
the order of their addresses; "NUMA" is short for a NUMA node. A card is a GPU.
"""


def render(every: list[Table]) -> str:
    """The whole page."""
    total = sum(table.count for table in every)
    parts = [_HEAD.format(total=total), "\n".join(_counts(every)), *("\n".join(_section(table)) for table in every)]
    return "\n".join(parts) + "\n"


def in_words(answer: Answer | str | None) -> str:
    """An answer as a person reads it."""
    if not isinstance(answer, dict):
        return answer or ""
    if answer.keys() <= POLICIES:
        return "; ".join(f"{policy}: {in_words(part)}" for policy, part in answer.items())
    return ", ".join(_fact_in_words(name, value) for name, value in answer.items())


def _counts(every: list[Table]) -> Iterator[str]:
    yield f"| section | {' | '.join(VERDICTS)} | rows |"
    yield f"|---|{'---|' * (len(VERDICTS) + 1)}"
    total: Counter[str] = Counter()
    for table in every:
        counts = Counter(row.verdict for row in table.rows)
        total += counts
        yield _count_line(f"{table.section} {table.title}", counts)
    yield _count_line("all", total)
    yield ""


def _count_line(name: str, counts: Mapping[str, int]) -> str:
    numbers = [counts.get(verdict, 0) for verdict in VERDICTS]
    return f"| {name} | {' | '.join(map(str, [*numbers, sum(numbers)]))} |"


def _section(table: Table) -> Iterator[str]:
    yield f"## {table.section}: {table.title}\n"
    yield f"{table.about}\n"
    yield "| row | case | Koordinator | numaplace | why it differs, or has no counterpart |"
    yield "|---|---|---|---|---|"
    for row in table.rows:
        yield from _lines(row)
    yield ""


def _lines(row: Case) -> Iterator[str]:
    if row.no_counterpart:
        yield _line(row.id, row.says, "", "–", row.no_counterpart)
        return
    for number, part in enumerate(row.parts):
        theirs = "the same" if part.both else in_words(part.theirs)
        yield _line("" if number else row.id, part.says, theirs, in_words(part.both or part.ours), part.differs)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _fact_in_words(name: str, value: Any) -> str:
    match name:
        case "refused":
            return "refused" if value is True else f"refused: `{value}`"
        case "placed":
            return "placed"
        case "planned":
            return "planned" if value else "not planned"
        case "numas":
            return f"NUMA {_listed(value)}" if value else "no NUMA recorded"
        case "cpus":
            return f"CPUs {value}"
        case "gpus" | "hcas":
            return f"{name[:-1].upper()} {_listed(value)}" if value else f"no {name[:-1].upper()}"
        case "at" | "shared":
            what = "CPUs" if name == "at" else "shared CPUs"
            return " and ".join(f"{count:g} {what} of NUMA {numa}" for numa, count in value.items())
        case "asks":
            return ", ".join(f"{key} {wish}" for key, wish in value.items())
        case "marks" | "free":
            return f"{'marks' if name == 'marks' else 'free CPUs'} {_listed(value, ', ')}"
    return str(value)


def _listed(values: list[Any], comma: str = ",") -> str:
    return comma.join(map(str, values))


if __name__ == "__main__":
    PAGE.write_text(render(tables()))

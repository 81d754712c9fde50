"""Koordinator's recorded behaviour, row by row: what numaplace answers, and that every difference has a reason.

The tables in tests/cases/koordinator hold the rows; the page for people who migrate is made of them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from numaplace.decide.admit import check
from numaplace.decide.place import Placement, place_on
from numaplace.model.cluster import node_state
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.wire.machine import machine
from numaplace.wire.pod import decode
from tests.cases.koordinator.page import PAGE, render
from tests.cases.koordinator.table import Answer, Case, Table, answer_for, tables
from tests.cases.koordinator.world import observe
from tests.recorded import ROOT, find_shared_data

TABLES = tables()
ROWS = [row for table in TABLES for row in table.rows]
PARTS = [part for row in ROWS for part in row.parts if not part.no_counterpart]
QUESTIONS = [
    pytest.param(table, part, policy, id="-".join(filter(None, [row.id, f"also{n}" if n else "", policy or ""])))
    for table in TABLES
    for row in table.rows
    if not row.no_counterpart
    for n, part in enumerate(row.parts)
    for policy in part.policies
]
GUIDE = ROOT / "docs" / "how-to" / "migrate-from-koordinator.md"
BLOCK = re.MULTILINE | re.DOTALL
ONE_LINE = 200  # characters of a reason


@pytest.mark.parametrize(("table", "case", "policy"), QUESTIONS)
def test_the_answer_is_the_one_in_the_table(table: Table, case: Case, policy: str | None) -> None:
    expected = answer_for(case.both or case.ours or {}, policy)
    assert expected
    assert told(observe(case, table.machines, policy), like=expected) == expected


def told(facts: Mapping[str, Any], like: Answer) -> Answer:
    """Of all facts, those that an answer states, to any depth."""
    return {
        name: told(facts[name], value) if name == "asks" and name in facts else facts.get(name)
        for name, value in like.items()
    }


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.id)
def test_a_difference_is_stated_if_and_only_if_there_is_one(part: Case) -> None:
    if part.both:
        assert (part.theirs, part.ours, part.differs) == (None, None, "")
    else:
        assert part.ours
        assert part.differs
        assert without_codes(part.theirs) != without_codes(part.ours)


def without_codes(answer: Any) -> Any:
    """An answer in which every refusal is alike, since their reasons have other names."""
    if not isinstance(answer, dict):
        return answer
    return {name: name == "refused" or without_codes(value) for name, value in answer.items()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_says_what_it_is_about_and_its_reason_in_one_line(row: Case) -> None:
    assert row.says
    assert not (row.no_counterpart and (row.pod or row.both or row.ours or row.also))
    for text in (row.no_counterpart, *(part.differs for part in row.parts)):
        assert "\n" not in text
        assert len(text) <= ONE_LINE


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.section)
def test_every_row_of_a_section_stands_in_its_table_once(table: Table) -> None:
    assert [row.id for row in table.rows] == table.expected_ids


def test_all_rows_are_there() -> None:
    assert "".join(table.section for table in TABLES) == "ABCDEFGHIJ"
    assert len(ROWS) == 255


def test_the_page_for_people_is_made_of_the_tables() -> None:
    assert PAGE.read_text() == render(TABLES), "run `python -m tests.cases.koordinator.page`"


def test_the_guide_names_rows_that_differ_or_have_no_counterpart_or_show_the_way() -> None:
    named = set(re.findall(r"\b[A-J]\d\d\b", GUIDE.read_text()))
    assert named <= {row.id for row in ROWS}
    assert {row.id for row in ROWS if row.id in named and row.verdict == "same"} <= {"D34", "D39", "I07"}


def test_the_migrated_pod_of_the_guide_gets_its_place_and_the_old_one_is_told_what_to_change() -> None:
    old, new = (yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(), BLOCK))
    node = node_state(NodeName("node-a"), topology=machine("2pkg 104cpu 8gpu 4hca pix"))
    answer = place_on(node, admitted(new))
    assert isinstance(answer, Placement)
    assert (answer.allocation.numas, len(answer.allocation.gpus), len(answer.allocation.cpus)) == ((0,), 4, 24)
    refusal = check(decode(old, "old"), Settings())
    assert isinstance(refusal, Refusal)
    assert "expected whole cards as aliyun.com/gpu" in refusal.sentence


def admitted(pod: object) -> PodRequest:
    request = check(decode(pod, "new"), Settings())
    assert isinstance(request, PodRequest), request
    return request


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Any]]:
    """The rows as they were recorded, by id; the test is skipped where the record is missing."""
    data = find_shared_data()
    file = data.parent / "reference" / "koordinator-scenarios.md" if data else None
    if file is None or not file.exists():
        pytest.skip("the record of Koordinator's behaviour is not here")
    blocks = re.findall(r"^```yaml\n(.*?)^```", file.read_text(), BLOCK)
    return {row["id"]: row for block in blocks for rows in yaml.safe_load(block).values() for row in rows}


def test_the_rows_are_those_that_were_recorded(recorded: dict[str, dict[str, Any]]) -> None:
    assert sorted(row.id for row in ROWS) == sorted(recorded)


def test_their_answers_are_those_that_were_recorded(recorded: dict[str, dict[str, Any]]) -> None:
    """As far as the record writes them as a list of CPUs or of GPUs, or as a failure."""
    compared = [(row.id, told_here, told_there) for row in ROWS for told_here, told_there in answers(row, recorded)]
    assert [one for one in compared if one[1] != one[2]] == []
    assert len(compared) > 80


def answers(row: Case, recorded: dict[str, dict[str, Any]]) -> Iterator[tuple[Any, Any]]:
    theirs, record = row.both or row.theirs, recorded[row.id]
    if not isinstance(theirs, dict):
        return
    cpus = record.get("want", record.get("cpus"))
    if "cpus" in theirs and isinstance(cpus, str):
        yield theirs["cpus"], str(CpuSet.parse(cpus))
    result = record.get("result")
    if isinstance(result, dict) and "gpu" in result:
        yield theirs["gpus"], list(range(8)) if result["gpu"] == "all" else result["gpu"]
    if result in ("fail", "reject"):
        yield "refused" in theirs, True

"""The reference is complete: whatever has a name in the code has its place in a page."""

import re

import click
import pytest

from numaplace.model import keys
from numaplace.model.finding import FindingCode
from numaplace.model.refusal import Code
from numaplace.model.request import CpuRule, Exclusivity, MemoryMode, Policy
from numaplace.model.settings import Weights
from numaplace.services.planner.notices import CORRECTED, GIVEN_UP, PLACED, REFUSED, STRAYED
from numaplace.tools.cli.planner import planner
from numaplace.tools.cli.root import COMMANDS
from numaplace.tools.report.standing import Stand
from tests.recorded import ROOT

REFERENCE = ROOT / "docs" / "reference"
ANNOTATIONS = sorted({keys.CPUSET_SCHEDULER, *keys.JSON_KEYS, *keys.OWN_KEYS})
BESIDE = (
    *(keys.ALIGN_LEVEL, keys.TOPOLOGY, keys.RESERVED, keys.IN_USE, keys.RENEWED),
    *(keys.SETTINGS, keys.PLAN_GATE, keys.PLANNED),
    *(REFUSED, PLACED, STRAYED, CORRECTED, GIVEN_UP),
)
VALUES = [str(value) for kind in (Exclusivity, CpuRule, MemoryMode) for value in kind]


def page(name: str) -> str:
    return (REFERENCE / name).read_text()


def test_every_refusal_code_has_a_section_in_the_order_of_precedence() -> None:
    assert re.findall(r"^## ([A-Z_]+)$", page("refusals.md"), re.MULTILINE) == list(Code)


@pytest.mark.parametrize("code", sorted(set(Code) - {Code.STALE_TOPOLOGY, Code.WAITING_FOR_ACK}))
def test_every_refusal_that_paper_can_give_is_given_by_a_command(code: Code) -> None:
    section = page("refusals.md").partition(f"\n## {code}\n")[2].partition("\n## ")[0]
    shown = re.search(r"```console\n(.*?)```", section, re.DOTALL)
    assert shown is not None
    assert f": {code}" in shown[1] or f"{code}:" in shown[1]
    assert "**Do:**" in section


@pytest.mark.parametrize("code", list(Code))
def test_whoever_waits_is_told_what_to_do_about_every_code(code: Code) -> None:
    waiting = (ROOT / "docs" / "how-to" / "why-is-my-pod-waiting.md").read_text()
    assert re.search(rf"^\| [A-Z_` ]*`{code}`", waiting, re.MULTILINE)


@pytest.mark.parametrize("stand", list(Stand))
def test_every_stand_of_a_pod_is_explained(stand: Stand) -> None:
    assert f"| `{stand}` |" in page("status-json.md")


@pytest.mark.parametrize("code", list(FindingCode))
def test_every_finding_is_explained(code: FindingCode) -> None:
    assert f"`{code}`" in page("findings.md")


@pytest.mark.parametrize("key", ANNOTATIONS)
def test_every_annotation_is_explained(key: str) -> None:
    assert f"`{key}`" in page("annotations.md")


@pytest.mark.parametrize("name", BESIDE)
def test_every_other_name_that_is_read_or_written_is_listed(name: str) -> None:
    assert f"`{name}`" in page("annotations.md")


@pytest.mark.parametrize("option", [one for one in planner.params if isinstance(one, click.Option)], ids=str)
def test_every_option_of_the_planner_is_in_its_reference(option: click.Option) -> None:
    """By its name, or by the beginning that it shares with others (`--extender…`)."""
    named = re.findall(r"`(--[a-z-]+)(…?)`", page("planner.md") + page("extender.md"))
    (flag,) = option.opts
    assert any(flag.startswith(name) if more else flag == name for name, more in named)


@pytest.mark.parametrize("event", BESIDE[-5:])
def test_every_event_is_explained(event: str) -> None:
    assert f"| event `{event}` |" in page("planner.md")


@pytest.mark.parametrize("value", VALUES)
def test_every_value_of_an_annotation_is_named(value: str) -> None:
    assert f"`{value}`" in page("annotations.md")


@pytest.mark.parametrize("policy", [policy for policy in Policy if policy is not Policy.NONE])
def test_every_policy_is_explained(policy: Policy) -> None:
    assert f"`{policy}`" in page("policies.md")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_is_listed(name: str) -> None:
    assert f"| `numaplace {name}` |" in page("commands.md")


@pytest.mark.parametrize("part", [name.replace("_", "-") for name in Weights.__slots__])
def test_every_part_of_the_score_is_explained(part: str) -> None:
    assert f"`{part}`" in page("ranking.md")

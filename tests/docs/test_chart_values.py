"""The reference of the chart's values says what values.yaml and the schema say.

`python -m tests.docs.test_chart_values` prints the table as it should be.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.recorded import ROOT

CHART = ROOT / "deploy" / "chart"
PAGE = ROOT / "docs" / "reference" / "chart-values.md"


def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    return found


def described(part: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every value that the schema knows, by its path; what is a mapping of ours is followed."""
    for name, child in part["properties"].items():
        where = f"{path}.{name}".removeprefix(".")
        if "properties" in child:
            yield from described(child, where)
        else:
            yield where, child


def given(values: dict[str, Any], known: set[str], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of values.yaml, down to what the schema describes as one."""
    for name, value in values.items():
        where = f"{path}.{name}".removeprefix(".")
        if isinstance(value, dict) and where not in known:
            yield from given(value, known, where)
        else:
            yield where, value


def rows() -> list[str]:
    known = dict(described(schema()))
    defaults = dict(given(yaml.safe_load((CHART / "values.yaml").read_text()), set(known)))
    return [
        f"| `{path}` | `{json.dumps(value)}` | {known[path].get('description', '')} |"
        for path, value in defaults.items()
    ]


def test_every_value_has_a_default_and_a_schema() -> None:
    known = dict(described(schema()))
    defaults = dict(given(yaml.safe_load((CHART / "values.yaml").read_text()), set(known)))
    assert set(defaults) == set(known) - {"global"}


@pytest.mark.parametrize("row", rows())
def test_every_value_is_in_the_reference(row: str) -> None:
    assert row.split("|")[3].strip()
    assert row in PAGE.read_text().splitlines()


def test_the_reference_names_no_value_that_is_none() -> None:
    assert [line for line in PAGE.read_text().splitlines() if line.startswith("| `")] == rows()


if __name__ == "__main__":
    print("\n".join(rows()))

"""What the schema of the chart takes, the planner takes too: the choices and the ends of every value."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from numaplace.model.errors import InputError
from numaplace.tools.cli.planner import planner
from tests.chart.rendered import CHART, named, things

Names = tuple[str, ...]

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
ON: dict[Names, object] = {  # what the other values need, so that each of them is told to somebody
    ("image", "repository"): "registry.example/numaplace",
    ("planner", "extender", "enabled"): True,
    ("planner", "extender", "tlsSecret"): "planner-tls",
    ("planner", "serviceMonitor", "enabled"): True,
}
KUBECONFIG = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


def edges(part: Mapping[str, Any]) -> Iterator[object]:
    """The choices; of numbers the least, of those with parts one that is a little more, and the most."""
    if "$ref" in part:
        yield from edges(SCHEMA["definitions"][part["$ref"].rpartition("/")[2]])
    for one in part.get("anyOf", ()):
        yield from edges(one)
    yield from part.get("enum", [part["const"]] if "const" in part else [])
    kind = part.get("type")
    if kind == "boolean":
        yield from (False, True)
    if kind in ("integer", "number"):
        yield part["minimum"]
        if kind == "number":
            yield part["minimum"] + 0.5
        yield part["exclusiveMaximum"] - 0.5 if "exclusiveMaximum" in part else part.get("maximum", 10**6)


def legal(part: Mapping[str, Any], path: Names = ()) -> Iterator[tuple[Names, list[object]]]:
    """Every value that has edges, and those."""
    for name, child in part.get("properties", {}).items():
        yield from legal(child, (*path, name))
    for name in part.get("propertyNames", {}).get("enum", ()):
        yield from legal(part["additionalProperties"], (*path, name))
    if found := list(edges(part)):
        yield path, found


LEGAL = dict(legal(SCHEMA))
LEGAL["planner", "extender", "port"].reverse()  # it must differ from planner.port


def merged(values: Mapping[str, Any], path: Names, value: object) -> dict[str, Any]:
    """The values with one more, at its path."""
    name, *rest = path
    return {**values, name: merged(values.get(name, {}), tuple(rest), value) if rest else value}


def complaint(arguments: list[str], config: Path) -> str:
    """What the planner says of its options; the Lease, which is looked at last, is wrong, so that it never begins."""
    result = CliRunner().invoke(planner, [*arguments, "--kubeconfig", str(config), "--lease", "none"])
    return str(result.exception) if isinstance(result.exception, InputError) else result.output


@pytest.mark.parametrize("turn", range(max(map(len, LEGAL.values()))))
def test_what_the_schema_takes_the_planner_takes_too(turn: int, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(json.dumps(KUBECONFIG))
    values: dict[str, Any] = {}
    for path, value in ({path: found[turn % len(found)] for path, found in LEGAL.items()} | ON).items():
        values = merged(values, path, value)
    made = things(values=values)
    (container,) = named(made, "Deployment", "numaplace-planner")["spec"]["template"]["spec"]["containers"]
    command, *arguments = container["args"]
    assert command == "planner"
    assert complaint(arguments, config) == "--lease: found 'none'; expected NAMESPACE/NAME"
    told = named(made, "ConfigMap", "numaplace-scheduler-config")["data"]["scheduler-config.yaml"]
    monitor = named(made, "ServiceMonitor", "numaplace-planner")["spec"]["endpoints"][0]
    for duration in yaml.safe_load(told)["extenders"][0]["httpTimeout"], monitor["interval"]:
        assert re.fullmatch(r"\d+m?s", duration), duration

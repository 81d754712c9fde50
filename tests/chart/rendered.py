"""The chart as helm renders it, for tests of the chart and for the control plane lane, which installs it."""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import yaml

from tests.chart.programs import find_tools
from tests.cluster.build import VERSION
from tests.recorded import ROOT

CHART = ROOT / "deploy" / "chart"
RELEASE, SPACE = "numaplace", "numaplace-system"
IMAGE = {"image": {"repository": "registry.example/numaplace"}}
HOOK = "helm.sh/hook"

Thing = dict[str, Any]


def helm(*arguments: str, values: Mapping[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm on the chart with these values over its own."""
    command = [str(find_tools() / "helm"), *arguments, "--values", "-"]
    return subprocess.run(command, input=json.dumps(values or {}), capture_output=True, text=True, check=False)


def template(*options: str, values: Mapping[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """What an installation would create, or why it cannot be made."""
    options = ("--kube-version", VERSION, *options)
    return helm("template", RELEASE, str(CHART), "--namespace", SPACE, *options, values=values)


def things(*options: str, values: Mapping[str, Any] | None = None) -> list[Thing]:
    """All objects of an installation, with an image named."""
    done = template(*options, values={**IMAGE, **(values or {})})
    assert done.returncode == 0, done.stderr
    return [thing for thing in yaml.load_all(done.stdout, yaml.CSafeLoader) if thing]


def is_hook(thing: Thing) -> bool:
    """Whether helm creates it at a certain moment instead of on installation."""
    return HOOK in (thing["metadata"].get("annotations") or {})


def named(things: list[Thing], kind: str, name: str) -> Thing:
    """The one object of that kind and name."""
    (found,) = [one for one in things if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found

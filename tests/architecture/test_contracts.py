"""The bands (tools > services > adapters > wire > decide > model) are contracts that hold, and that bite."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recorded import ROOT


def lint_imports(source: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of this checkout against the package `numaplace` found in `source`."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache", ROOT / "pyproject.toml"],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold() -> None:
    run = lint_imports(ROOT / "src")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("model/late.py", "numaplace.decide", "Bands"),
        ("wire/late.py", "numaplace.adapters", "Bands"),
        ("services/late.py", "numaplace.tools", "Bands"),
        ("adapters/late.py", "numaplace.services", "Bands"),
        ("decide/late.py", "pathlib", "never touch the world"),
        ("model/late.py", "msgspec", "know no text format"),
        ("decide/track/late.py", "numpy", "NumPy"),
        ("decide/track/late.py", "numaplace.decide.place.late_too", "Verbs do not know each other"),
        ("decide/rules/late.py", "numaplace.decide.place.late_too", "Verbs do not know each other"),
        ("adapters/late.py", "numaplace.adapters.late_too", "Adapters do not know each other"),
        ("adapters/late.py", "aiohttp", "HTTP serves"),
        ("tools/late.py", "aiohttp", "HTTP serves"),
        ("tools/report/late.py", "numaplace.tools.cli", "Nothing below the command line"),
    ],
)
def test_an_import_that_breaks_a_contract_is_named(tmp_path: Path, module: str, imported: str, contract: str) -> None:
    package = copy_of_the_package(tmp_path)
    add_module(package / module, f"import {imported}\n")
    if imported.endswith("late_too"):
        add_module(tmp_path / f"{imported.replace('.', '/')}.py", "")

    run = lint_imports(tmp_path)

    assert run.returncode != 0, run.stdout
    broken = [line for line in run.stdout.splitlines() if " BROKEN" in line]  # a count of ignored imports may follow
    assert any(contract in line for line in broken), run.stdout


@pytest.mark.parametrize("imported", ["numpy", "numaplace.decide.rules.late_too"])
def test_placing_may_use_numpy_and_the_node_rules(tmp_path: Path, imported: str) -> None:
    package = copy_of_the_package(tmp_path)
    add_module(package / "decide/rules/late_too.py", "")
    add_module(package / "decide/place/late.py", f"import {imported}\n")
    run = lint_imports(tmp_path)
    assert run.returncode == 0, run.stdout


def copy_of_the_package(folder: Path) -> Path:
    shutil.copytree(ROOT / "src/numaplace", folder / "numaplace", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "numaplace"


def add_module(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    (path.parent / "__init__.py").touch()
    path.write_text(text)

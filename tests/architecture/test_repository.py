"""What is committed can be used by anyone: no addresses in the lock, no paths of somebody's machine."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import numaplace
from tests.recorded import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"].values()
RUNTIME = [*PROJECT["project"]["dependencies"], *(line for lines in EXTRAS for line in lines)]
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)", re.MULTILINE)
# Absolute paths of people's own folders; a leading word or dot makes it a part of something else.
PERSONAL_PATH = re.compile(r"(?<![\w.~*}-])/(?:home|Users|work|root|tmp)/[\w.-]")


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no git checkout, so nothing says which files are tracked")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def requirements() -> list[Requirement]:
    groups = PROJECT["dependency-groups"].values()
    return [Requirement(line) for lines in (RUNTIME, *groups) for line in lines]


def test_the_lock_holds_hashes_and_no_address() -> None:
    assert not re.search(r"://|\bindex-url\b|\bfind-links\b", LOCK)
    entries = [entry for entry in re.split(r"\n(?=[A-Za-z0-9])", LOCK) if PINNED.match(entry)]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_the_lock_satisfies_what_the_project_asks(requirement: Requirement) -> None:
    wanted = canonicalize_name(requirement.name)
    versions = [pin["version"] for pin in PINNED.finditer(LOCK) if canonicalize_name(pin["name"]) == wanted]
    assert versions, f"{requirement.name} is not in requirements.lock: run `make lock`"
    assert all(requirement.specifier.contains(version, prereleases=True) for version in versions), versions


@pytest.mark.parametrize("line", RUNTIME)
def test_runtime_dependencies_have_a_lower_and_an_upper_bound(line: str) -> None:
    operators = {specifier.operator for specifier in Requirement(line).specifier}
    assert operators == {">=", "<"}


def test_no_tracked_file_names_a_path_of_somebodys_machine() -> None:
    found = []
    for file in tracked_files():
        text = file.read_bytes().decode("utf-8", errors="replace")
        found += [f"{file.relative_to(ROOT)}: {match.group()}" for match in PERSONAL_PATH.finditer(text)]
    assert found == []


def test_the_package_says_that_it_is_typed_and_which_version_it_is() -> None:
    assert (ROOT / "src/numaplace/py.typed").exists()
    assert re.fullmatch(r"\d+\.\d+\.\d+", numaplace.__version__)

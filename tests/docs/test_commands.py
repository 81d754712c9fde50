"""Every command in README.md and docs/ does what the document says.

The commands of one page run in order in one folder that looks like the checkout, so that later ones
find what earlier ones wrote. `make` targets must exist; what needs more than Python must be named here.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.console import Command, output_matches, read_commands
from tests.recorded import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES_WITH_COMMANDS = [page for page in PAGES if "_build" not in page.parts and read_commands(page)]
RUN = {"numaplace", "cat", "head", "ls"}
# They need a network, a cluster or a person. Those of the pages about installing are run in a cluster by
# tests/cluster/test_install_pages.py.
NOT_RUN = {"cd", "git", "helm", "kubectl", "pip", "podman", "sudo"}
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
COMMAND_LIMIT_S = 60


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the names of the checkout in it, where commands may write without changing anything here."""
    folder = tmp_path / "numaplace"
    folder.mkdir()
    for entry in ROOT.iterdir():
        if entry.name == "deploy":
            shutil.copytree(entry, folder / entry.name)
        elif not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    return folder


def run(command: Command, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would with the environment active, in a pipe instead of a terminal."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.text],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=COMMAND_LIMIT_S,
        check=False,
    )


def complaint(command: Command, folder: Path) -> str:
    """What is wrong with a command of a document; empty when nothing is."""
    if command.program == "make":
        unknown = set(re.findall(r"(?<=\s)[a-z][a-z-]*(?=\s|$)", command.text.partition("#")[0])) - TARGETS
        return f"the Makefile has no target {', '.join(sorted(unknown))}" if unknown else ""
    if command.program in NOT_RUN:
        return ""
    if command.program not in RUN:
        return f"no rule says whether {command.program} can be run in a test (RUN and NOT_RUN)"
    done = run(command, folder)
    if done.returncode != command.status:
        return f"exit status {done.returncode}, the document says {command.status}; output:\n{done.stdout}"
    if not output_matches(command, done.stdout):
        return "the document shows\n" + "\n".join(command.output) + f"\n--- but the output is\n{done.stdout}"
    return ""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_do_what_it_says(page: Path, checkout: Path) -> None:
    for command in read_commands(page):
        wrong = complaint(command, checkout)
        assert not wrong, f"{page.relative_to(ROOT)}:{command.line}: $ {command.text}\n{wrong}"


def test_documents_hold_commands_at_all() -> None:
    assert ROOT / "README.md" in PAGES_WITH_COMMANDS


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https?:)([^)#]+)", PAGES[0].read_text()))
def test_the_links_of_the_readme_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()

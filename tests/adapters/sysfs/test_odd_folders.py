"""Links, pipes, long files and other things that have no business in /sys."""

import os
import socket
from pathlib import Path

import pytest

from numaplace.adapters.sysfs import read_tree
from numaplace.adapters.sysfs.bounds import Bounds
from numaplace.adapters.sysfs.directory import Directory
from numaplace.adapters.sysfs.patterns import compile_patterns
from numaplace.adapters.sysfs.walk import Walk
from numaplace.decide.discover.sources import CPU, MAX_FILE_BYTES, NODE, PATTERNS, PCI
from tests.adapters.sysfs.world import FILES, write_folder

ONLINE = f"{CPU}/online"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "root", FILES, {})


def replace(path: Path) -> Path:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.timeout(20)
def test_a_pipe_is_not_opened(root: Path) -> None:
    os.mkfifo(replace(root / ONLINE))
    tree = read_tree(root)
    assert tree.faults == {ONLINE: "is no regular file"}
    assert ONLINE not in tree.files


def test_a_socket_is_not_opened(root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(replace(root / ONLINE).parent)  # a socket's name must be short
        try:
            server.bind("online")
        finally:
            os.chdir(here)
        assert read_tree(root).faults == {ONLINE: "is no regular file"}


def test_a_device_is_not_opened(root: Path) -> None:
    try:
        os.mknod(replace(root / ONLINE), 0o20666, os.makedev(1, 5))  # /dev/zero never ends
    except PermissionError:
        pytest.skip("making a device needs root")
    assert read_tree(root).faults == {ONLINE: "is no regular file"}


def test_a_folder_in_place_of_a_file_is_a_fault(root: Path) -> None:
    replace(root / ONLINE).mkdir()
    assert read_tree(root).faults == {ONLINE: "is no regular file"}


def test_a_file_in_place_of_a_folder_is_a_fault(root: Path) -> None:
    (root / NODE / "node1").write_text("surprise")
    assert read_tree(root).faults == {f"{NODE}/node1": "is no folder"}


def test_a_file_of_megabytes_is_a_fault_and_not_kept(root: Path) -> None:
    (root / ONLINE).write_bytes(b"0," * 5_000_000)
    tree = read_tree(root)
    assert tree.faults == {ONLINE: f"longer than {MAX_FILE_BYTES} bytes"}
    assert ONLINE not in tree.files


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_a_fault(root: Path) -> None:
    (root / ONLINE).chmod(0)
    assert read_tree(root).faults == {ONLINE: "Permission denied"}


def test_a_link_never_leads_out_of_the_root(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0-3")
    for number, target in enumerate([str(secret), f"../../../../../{secret}", "/../../secret"]):
        replace(root / CPU / f"cpu{number}" / "online").symlink_to(target)
    replace(root / NODE / "node7").symlink_to(tmp_path)
    tree = read_tree(root)
    assert not any(b"0-3" in content for content in tree.files.values())
    assert set(tree.faults) == {str(secret).lstrip("/"), "secret"}


def test_an_absolute_link_begins_at_the_given_root(root: Path) -> None:
    replace(root / CPU / "cpu0" / "online").symlink_to(f"/{NODE}/online")
    tree = read_tree(root)
    assert tree.links == {f"{CPU}/cpu0/online": f"{NODE}/online"}
    assert tree.text(f"{CPU}/cpu0/online") == "0"


def test_links_in_a_circle_are_a_fault(root: Path) -> None:
    replace(root / ONLINE).symlink_to("possible")
    replace(root / CPU / "possible").symlink_to("online")
    replace(root / PCI / "0000:00:00.0").symlink_to("0000:00:00.0")
    tree = read_tree(root)
    assert tree.faults == dict.fromkeys(
        [ONLINE, f"{CPU}/possible", f"{PCI}/0000:00:00.0"], "symbolic links lead in a circle"
    )


def test_a_link_to_a_folder_above_is_entered_once(root: Path) -> None:
    for number in range(50):
        replace(root / PCI / f"0000:00:{number // 8:02x}.{number % 8}").symlink_to("../../..")
    tree = read_tree(root)
    assert len(tree.links) == 50
    assert tree.faults == {}


def test_a_name_that_cannot_be_printed_is_passed_over(root: Path) -> None:
    (root / PCI / "0000:00:00.0\x1b[2J").mkdir(parents=True)
    (root / PCI / "0000:00:00.0\x1b[2J" / "class").write_text("0x030200")
    tree = read_tree(root)
    assert all(path.isprintable() for path in tree.files)


@pytest.mark.parametrize("bounds", [Bounds(names=10), Bounds(files=2), Bounds(kept_bytes=5)])
def test_a_reading_ends_at_its_bounds_and_says_so(root: Path, bounds: Bounds) -> None:
    walk = Walk(Directory(str(root)), bounds)
    walk.along(compile_patterns(PATTERNS))
    assert "too much" in walk.tree().faults[""]
    assert len(walk.tree().files) <= bounds.files

"""A tree written out as a folder is read back as the same machine, wherever the folder is moved."""

from pathlib import Path

import pytest

from numaplace.adapters.sysfs import read_tree
from numaplace.adapters.tree_files import write_tree
from numaplace.decide.discover import Tree, assemble
from numaplace.decide.discover.describe import tree_of
from numaplace.model.errors import InputError
from numaplace.wire.machine import discovered, parse_machine
from numaplace.wire.machine_known import KNOWN


@pytest.mark.parametrize("name", list(KNOWN))
def test_a_described_machine_is_read_from_its_folder(name: str, tmp_path: Path) -> None:
    write_tree(tree_of(parse_machine(name)), tmp_path / "root")
    assert assemble(read_tree(tmp_path / "root")) == discovered(name)


def test_the_folder_may_be_moved(tmp_path: Path) -> None:
    write_tree(tree_of(parse_machine("lingjun")), tmp_path / "here")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "here").rename(tmp_path / "deeper" / "there")
    assert assemble(read_tree(tmp_path / "deeper" / "there")) == discovered("lingjun")


def test_lies_and_faults_are_kept(tmp_path: Path) -> None:
    lying = tree_of(parse_machine("like: lingjun\nfiles: {'sys/bus/pci/devices/0000:13:00.0/numa_node': '9'}"))
    tree = Tree(lying.files, lying.links, {"sys/devices/system/node/node0/distance": "permission denied"})
    write_tree(tree, tmp_path / "root")
    assert assemble(read_tree(tmp_path / "root")) == assemble(tree)


def test_what_exists_is_never_written_into(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found something that exists; expected the name of a new folder"):
        write_tree(tree_of(parse_machine("lingjun")), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../out", "/etc/out", "sys/../../out", ""])
def test_a_path_out_of_the_folder_is_refused(path: str, tmp_path: Path) -> None:
    for tree in (Tree({path: b""}), Tree({}, {path: "sys/x"}), Tree({}, {"sys/x": path})):
        with pytest.raises(InputError, match="expected paths inside the folder"):
            write_tree(tree, tmp_path / "root")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_where_it_cannot_be_written_whole(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a place where folders and links can be made"):
        write_tree(Tree({"sys/a": b"a file", "sys/a/b": b"and a folder"}), tmp_path / "root")
    assert list(tmp_path.iterdir()) == []

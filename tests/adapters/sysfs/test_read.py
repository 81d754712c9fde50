"""One machine reads alike from a folder and from every kind of archive."""

from pathlib import Path

import pytest

from numaplace.adapters.sysfs import read_tree
from numaplace.decide.discover import Tree
from numaplace.decide.discover.sources import CPU, NODE, PCI
from numaplace.model.errors import InputError
from tests.adapters.sysfs.world import CARD, FILES, PACKERS, world_archive, write_folder


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return read_tree(write_folder(tmp_path))


def test_what_discovery_asks_for_is_read_and_nothing_else(tree: Tree) -> None:
    assert set(tree.files) == {
        f"{CPU}/online",
        f"{CPU}/cpu0/topology/core_cpus_list",
        f"{CPU}/cpu1/topology/thread_siblings_list",
        f"{NODE}/online",
        f"{NODE}/node0/cpulist",
        f"{NODE}/node0/meminfo",
        "sys/devices/pci0000:3a/0000:3a:00.0/class",
        f"{CARD}/class",
        "proc/meminfo",
    }
    assert tree.files[f"{CPU}/online"] == b"0-1\n"
    assert tree.faults == {}


def test_links_are_kept_with_the_place_they_lead_to(tree: Tree) -> None:
    assert tree.links == {
        f"{PCI}/0000:3a:00.0": "sys/devices/pci0000:3a/0000:3a:00.0",
        f"{PCI}/0000:3b:00.0": CARD,
        f"{CARD}/driver": "sys/bus/pci/drivers/nvidia",
        "sys/class/net/lo": "sys/devices/virtual/net/lo",
    }
    assert tree.text(f"{PCI}/0000:3b:00.0/class") == "0x030200"


def test_cpuinfo_is_read_only_where_no_cpu_tells_its_topology(tmp_path: Path) -> None:
    files = {name: text for name, text in FILES.items() if "topology" not in name}
    assert "proc/cpuinfo" in read_tree(write_folder(tmp_path, files, {})).files


@pytest.mark.parametrize("top", ["", "./", "machine/", "a/b/", "machine/fsroot/"])
@pytest.mark.parametrize("packer", PACKERS)
def test_an_archive_reads_like_the_folder(tmp_path: Path, tree: Tree, packer: str, top: str) -> None:
    archive = tmp_path / "named-anyhow"
    archive.write_bytes(PACKERS[packer](world_archive(top)))
    assert read_tree(archive) == tree


@pytest.mark.parametrize("above", ["machine", "a/b", "machine/fsroot"])
def test_a_folder_above_the_machine_reads_like_the_machine(tmp_path: Path, above: str) -> None:
    # Absolute links mean the machine's own root, not this one's.
    assert read_tree(write_folder(tmp_path / "one" / above).parents[above.count("/")]) == read_tree(
        write_folder(tmp_path / "two")
    )


def test_fsroot_is_the_machine_even_beside_other_folders(tmp_path: Path) -> None:
    write_folder(tmp_path / "machine" / "fsroot")
    (tmp_path / "machine" / "cpuid").mkdir()
    assert f"{CPU}/online" in read_tree(tmp_path).files


def test_an_empty_folder_is_an_empty_machine(tmp_path: Path) -> None:
    assert read_tree(tmp_path) == Tree({})


@pytest.mark.parametrize("content", [b"", b"hello", b"\x1f\x8bnot gzip at all", b"BZh9oops", b"\xfd7zXZ\0oops"])
def test_a_file_that_is_no_archive_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "machine.tar.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"machine\.tar\.gz: found .+; expected a tar archive"):
        read_tree(path)


def test_a_place_where_nothing_is_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: found nothing; expected a folder"):
        read_tree(tmp_path / "nowhere")

"""A Tree answers for files behind links as a file system would."""

import pytest

from numaplace.decide.discover import Tree
from numaplace.decide.discover.unreadable import parse_unreadable, unreadable_text

TREE = Tree(
    files={"sys/devices/pci0000:00/0000:00:02.0/class": b"0x030000\n", "proc/meminfo": b"MemTotal: 1 kB\n\0\0"},
    links={
        "sys/bus/pci/devices/0000:00:02.0": "sys/devices/pci0000:00/0000:00:02.0",
        "sys/devices/pci0000:00/0000:00:02.0/driver": "sys/bus/pci/drivers/nowhere",
    },
    faults={"sys/devices/system/cpu/online": "is no regular file"},
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sys/bus/pci/devices/0000:00:02.0/class", "0x030000"),
        ("sys/devices/pci0000:00/0000:00:02.0/class", "0x030000"),
        ("proc/meminfo", "MemTotal: 1 kB"),  # blanks and NUL bytes at the ends say nothing
        ("sys/bus/pci/devices/0000:00:02.0/driver", None),
        ("sys/devices/system/cpu/online", None),
        ("nowhere", None),
    ],
)
def test_a_file_is_found_behind_a_link(path: str, text: str | None) -> None:
    assert TREE.text(path) == text


def test_a_folder_names_files_links_and_faults() -> None:
    assert TREE.names("") == ["proc", "sys"]
    assert TREE.names("sys/bus/pci/devices") == ["0000:00:02.0"]
    assert TREE.names("sys/bus/pci/devices/0000:00:02.0") == ["class", "driver"]
    assert TREE.names("sys/devices/system/cpu") == ["online"]
    assert TREE.names("nowhere") == []


def test_trees_are_equal_by_what_they_hold() -> None:
    assert Tree({"a": b"1"}) == Tree({"a": b"1"}, {}, {})
    assert Tree({"a": b"1"}) != Tree({"a": b"2"})


def test_unreadable_files_travel_as_text() -> None:
    faults = {"sys/a": "is no regular file", "": "the archive breaks off: here", "sys/b": "Permission denied"}
    assert parse_unreadable(unreadable_text(faults).encode()) == faults
    assert unreadable_text({}) == ""
    assert parse_unreadable(b"sys/a\nsys/\x1b[2J: bad\n") == {"sys/a": ""}

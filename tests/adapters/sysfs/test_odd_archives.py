"""Archives that want to break out, to break in, or to become very large."""

import bz2
import gzip
import lzma
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.adapters.sysfs import read_tree
from numaplace.adapters.sysfs.bounds import Bounds
from numaplace.adapters.sysfs.unpack import MAX_HEADER_BYTES, open_archive
from numaplace.decide.discover import Tree, assemble
from numaplace.decide.discover.sources import CPU, MAX_FILE_BYTES, NODE
from numaplace.model.errors import InputError
from tests.adapters.sysfs.world import PACKERS, archive_of, link, member, world_archive

ONLINE = f"{CPU}/online"


def read(tmp_path: Path, archive: bytes) -> Tree:
    path = tmp_path / "machine.tar"
    path.write_bytes(archive)
    return read_tree(path)


@pytest.mark.parametrize("name", ["../sys/x", f"sys/../../{ONLINE}", "a/" * 60 + "online"])
def test_a_member_that_climbs_or_is_buried_is_passed_over(tmp_path: Path, name: str) -> None:
    tree = read(tmp_path, archive_of(member(name, "0-3"), member(f"{NODE}/online", "0")))
    assert set(tree.files) == {f"{NODE}/online"}


def test_an_absolute_name_is_a_name_below_the_root(tmp_path: Path) -> None:
    assert read(tmp_path, archive_of(member(f"/{ONLINE}", "0-3"))).text(ONLINE) == "0-3"


def test_devices_and_pipes_are_names_only(tmp_path: Path) -> None:
    for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE):
        tree = read(tmp_path, archive_of(member(ONLINE, type=kind), member(f"{NODE}/online", "0")))
        assert tree.faults == {ONLINE: "is no regular file"}


def test_a_hard_link_is_the_file_it_names_and_never_another(tmp_path: Path) -> None:
    first = member(f"{CPU}/online", "0-3")
    tree = read(tmp_path, archive_of(first, link(f"{CPU}/present", ONLINE, tarfile.LNKTYPE)))
    assert tree.text(f"{CPU}/present") == "0-3"
    tree = read(tmp_path, archive_of(first, link(f"{CPU}/present", "/etc/passwd", tarfile.LNKTYPE)))
    assert tree.faults == {f"{CPU}/present": "is no regular file"}


def test_links_in_a_circle_are_a_fault(tmp_path: Path) -> None:
    tree = read(tmp_path, archive_of(link(ONLINE, "possible"), link(f"{CPU}/possible", "online")))
    assert set(tree.faults) == {ONLINE, f"{CPU}/possible"}


def test_of_two_members_with_one_name_the_later_counts(tmp_path: Path) -> None:
    tree = read(tmp_path, archive_of(member(ONLINE, "0-1"), member(f"{ONLINE}/deeper", "x"), member(ONLINE, "0-3")))
    assert tree.text(ONLINE) == "0-3"


def test_a_long_file_is_a_fault_and_not_kept(tmp_path: Path) -> None:
    tree = read(tmp_path, archive_of(member(ONLINE, b"0" * (MAX_FILE_BYTES + 1))))
    assert tree.files == {}
    assert str(MAX_FILE_BYTES) in tree.faults[ONLINE]


@pytest.mark.parametrize("cut", [700, 2_000, 3_333])
def test_an_archive_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path, cut: int) -> None:
    tree = read(tmp_path, world_archive()[:cut])
    assert "breaks off" in tree.faults[""]
    assert tree.text(ONLINE) == "0-1"


def test_a_packed_archive_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    packed = gzip.compress(archive_of(*(member(f"{CPU}/cpu{n}/online", "1") for n in range(3000))), compresslevel=0)
    tree = read(tmp_path, packed[: len(packed) // 2])
    assert "breaks off" in tree.faults[""]
    assert 1000 < len(tree.files) < 2000


def test_something_behind_the_end_is_a_fault(tmp_path: Path) -> None:
    tree = read(tmp_path, world_archive() + b"\0" * 20_000 + b"more")
    assert "behind its end" in tree.faults[""]


@pytest.mark.parametrize(
    "bounds",
    [Bounds(members=3), Bounds(unpacked_bytes=12_000), Bounds(kept_bytes=5)],
    ids=["members", "bytes", "bytes that are kept"],
)
def test_unpacking_ends_at_its_bounds_and_says_so(tmp_path: Path, bounds: Bounds) -> None:
    path = tmp_path / "machine.tar"
    path.write_bytes(world_archive())
    _, faults = open_archive(path, {"online", "cpulist"}, bounds)
    assert faults[""].startswith("the archive breaks off")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_endless_zeros_are_not_unpacked(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    bomb = pack(world_archive() + b"\0" * (64 << 20))
    assert len(bomb) < 200_000
    assert ONLINE in read(tmp_path, bomb).files


def test_a_member_that_claims_a_size_no_machine_has_ends_the_reading(tmp_path: Path) -> None:
    huge = tarfile.TarInfo("sys/huge")
    huge.size = 1 << 40
    archive = archive_of(member(ONLINE, "0-3"))[:1024] + huge.tobuf(tarfile.GNU_FORMAT)
    tree = read(tmp_path, archive)
    assert tree.text(ONLINE) == "0-3"
    assert "breaks off" in tree.faults[""]


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_that_wants_megabytes_is_refused(tmp_path: Path, kind: bytes) -> None:
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, MAX_HEADER_BYTES + 1
    with pytest.raises(InputError, match="a header of 65537 bytes"):
        read(tmp_path, header.tobuf(tarfile.GNU_FORMAT) + b"x" * (1 << 20))


@given(data=st.data())
def test_any_bytes_are_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    plain = bytearray(world_archive())
    packer = PACKERS[data.draw(st.sampled_from(sorted(PACKERS)))]
    changed = bytearray(packer(bytes(_scratched(plain, data) if data.draw(st.booleans()) else plain)))
    changed = _scratched(changed, data)
    path = tmp_path_factory.getbasetemp() / "any.tar"
    path.write_bytes(changed[: data.draw(st.integers(0, len(changed)))] if data.draw(st.booleans()) else changed)
    try:
        tree = read_tree(path)
    except InputError:
        return
    assemble(tree)


def _scratched(content: bytearray, data: st.DataObject) -> bytearray:
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=8)):
        content[at] = byte
    return content

"""Reading a tar archive once, from front to end, keeping what is wanted.

Sizes are judged before content is read; members, bytes and headers are bounded, so
that a small archive cannot become a large process. Devices and pipes are names only.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import IO, Protocol

from numaplace.adapters.sysfs.archive import Archive, Folder, Member, find
from numaplace.adapters.sysfs.bounds import DEFAULT_BOUNDS, MIB, Bounds
from numaplace.adapters.sysfs.port import Kind
from numaplace.decide.discover.sources import CPUINFO, MAX_CPUINFO_BYTES, MAX_FILE_BYTES
from numaplace.model.errors import InputError

MAX_HEADER_BYTES = 65_536  # of a member's long name or extended header
MAX_PADDING_BYTES = 4 * MIB  # zeros behind the end; tar pads to a record, which may be large
XZ_MEMORY_BYTES = 256 * MIB

_CPUINFO_NAME = CPUINFO.rpartition("/")[2]
_CHUNK_BYTES = 65_536
_HEADERS = frozenset(
    {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
)
# What the libraries raise on bytes that are not what they seemed to be.
_BROKEN = (
    tarfile.TarError,
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
)


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def open_archive(
    path: Path, wanted: Collection[str], bounds: Bounds = DEFAULT_BOUNDS
) -> tuple[Archive, dict[str, str]]:
    """The archive with the content of files that have a wanted name, and what is wrong with it.

    An archive that breaks off is read as far as it goes, with a fault. InputError if no
    member can be read at all.
    """
    top: Folder = {}
    faults = {}
    with path.open("rb") as file:
        try:
            _fill(top, _Bounded(_unpacked(file), bounds.unpacked_bytes), wanted, bounds)
        except _BROKEN as error:
            if not top:
                reason = str(error) or "bytes that end early"
                raise InputError(
                    str(path), found=reason, wanted="a tar archive, plain or packed by gzip, bzip2 or xz"
                ) from error
            faults[""] = f"the archive breaks off: {error}"
    return Archive(top), faults


def _unpacked(file: IO[bytes]) -> _Stream:
    """The bytes of the archive proper, by what the file begins with."""
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if magic == b"\xfd7zXZ\0":
        return _Xz(file)
    return file


class _Xz:
    """An xz stream that may not ask for any amount of memory, which lzma's own file class lets it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)

    def read(self, size: int, /) -> bytes:
        while not self._decompressor.eof:
            packed = self._file.read(_CHUNK_BYTES) if self._decompressor.needs_input else b""
            if not packed and self._decompressor.needs_input:
                raise EOFError("the xz stream ends early")
            if unpacked := self._decompressor.decompress(packed, size):
                return unpacked
        return b""


class _Bounded:
    """A stream that refuses to go on for ever."""

    def __init__(self, stream: _Stream, bound: int) -> None:
        self._stream, self._bound, self._left = stream, bound, bound
        self.tail = b""  # the last block that was read

    def read(self, size: int, /) -> bytes:
        piece = self._stream.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise tarfile.ReadError(f"more than {self._bound} bytes")
        self.tail = (self.tail + piece)[-tarfile.BLOCKSIZE :]
        return piece


class _Header(tarfile.TarInfo):
    """A member's header; one that wants a long name read for it must keep that short."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        header = super().frombuf(buf, encoding, errors)
        if header.type in _HEADERS and header.size > MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {header.size} bytes")
        return header


def _fill(top: Folder, stream: _Bounded, wanted: Collection[str], bounds: Bounds) -> None:
    count = kept = 0
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as tar:  # type: ignore[call-overload]
        while (member := tar.next()) is not None:
            tar.members.clear()  # its list of all headers would outweigh what is kept
            parts = [part for part in member.name.split("/") if part not in ("", ".")]
            if ".." in parts or not 0 < len(parts) <= bounds.depth:
                continue
            thing = _thing(tar, member, top, wanted)
            _put(top, parts, thing)
            count += 1
            kept += len(thing.content or b"") if thing else 0
            if count > bounds.members or kept > bounds.kept_bytes or member.size > bounds.unpacked_bytes:
                raise tarfile.ReadError(f"{count} members and {kept} wanted bytes are too much")
    for _ in range(MAX_PADDING_BYTES // _CHUNK_BYTES):
        if stream.read(_CHUNK_BYTES).strip(b"\0"):
            raise tarfile.ReadError("there is more behind its end")
    if stream.tail.strip(b"\0"):  # tarfile takes half a header for the end
        raise tarfile.ReadError("it has no end")


def _thing(tar: tarfile.TarFile, member: tarfile.TarInfo, top: Folder, wanted: Collection[str]) -> Member | None:
    """What the member is; None for a folder."""
    if member.isdir():
        return None
    if member.issym():
        return Member(Kind.LINK, target=member.linkname)
    if member.islnk():
        first = find(top, member.linkname)
        return first if isinstance(first, Member) else Member(Kind.OTHER)
    if not member.isreg():
        return Member(Kind.OTHER)
    name = member.name.rpartition("/")[2]
    limit = MAX_CPUINFO_BYTES if name == _CPUINFO_NAME else MAX_FILE_BYTES
    if name not in wanted or member.size > limit:
        return Member(Kind.FILE)
    file = tar.extractfile(member)
    content = file.read() if file else b""
    if len(content) != member.size:
        raise tarfile.ReadError(f"{member.name} ends early")
    return Member(Kind.FILE, content=content)


def _put(top: Folder, parts: list[str], thing: Member | None) -> None:
    """Place a member, making the folders above it; of two things with one name the later stays."""
    folder = top
    for part in parts[:-1]:
        below = folder.get(part)
        if not isinstance(below, dict):
            below = folder[part] = {}
        folder = below
    if thing is not None:
        folder[parts[-1]] = thing
    elif not isinstance(folder.get(parts[-1]), dict):
        folder[parts[-1]] = {}

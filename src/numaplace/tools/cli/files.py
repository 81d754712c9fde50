"""Files that a person names on the command line: read with bounds, written as a whole or not at all."""

import gzip
import os
import sys
import tempfile
import zlib
from pathlib import Path

import click

from numaplace.model.errors import InputError

MAX_BYTES = 300_000_000  # a captured cluster of 5,000 nodes and 20,000 Pods has a third of it
STANDARD_INPUT = "-"

_GZIP, _ARCHIVES, _USTAR = b"\x1f\x8b", (b"BZh", b"\xfd7zXZ"), (257, b"ustar")
_HEAD = 512


def is_capture(path: str) -> bool:
    """Whether a path holds a captured machine: a folder or a tar archive, packed or not."""
    if path in ("", STANDARD_INPUT) or not Path(path).is_file():
        return path != "" and Path(path).is_dir()
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
        if head.startswith(_GZIP):
            with gzip.open(path) as packed:
                head = packed.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return False  # whoever reads it next says what is wrong
    start, magic = _USTAR
    return head.startswith(_ARCHIVES) or head[start:].startswith(magic)


def read_text(path: str) -> str:
    """The text of a file, unpacked where it is gzip; `-` is standard input. InputError says what is wrong."""
    if path not in ("", STANDARD_INPUT) and Path(path).is_dir():
        raise InputError(path, found="a folder", wanted="a file")
    try:
        raw = sys.stdin.buffer.read(MAX_BYTES + 1) if path == STANDARD_INPUT else _read_file(Path(path))
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(path, found=reason.lower(), wanted="a file that can be read") from error
    if len(raw) > MAX_BYTES:
        raise InputError(path, found=f"more than {MAX_BYTES:,} bytes", wanted="a smaller file")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(path, found=f"a byte that is no UTF-8 at {error.start}", wanted="text") from error


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        packed = file.read(len(_GZIP)) == _GZIP
    with gzip.open(path) if packed else path.open("rb") as source:
        return source.read(MAX_BYTES + 1)


def deliver(text: str, to: Path | None) -> None:
    """Put the answer of a command on standard output, or where `to` says; it ends in one line end."""
    whole = text if text.endswith("\n") else f"{text}\n"
    if to is None:
        click.echo(whole, nl=False)
    else:
        write_whole(to, whole)


def write_whole(path: Path, text: str) -> None:
    """Put a text where `path` says, all at once; InputError if that place cannot be written."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(
            str(path), found=(error.strerror or str(error)).lower(), wanted="a place to write to"
        ) from error


def _umask() -> int:
    """The mask of this process, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

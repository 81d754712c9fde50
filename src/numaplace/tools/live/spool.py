"""Lines of a capture on their way to its file: kept on disk, so that memory does not grow with the cluster."""

import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

Rank = tuple[str, ...]


@contextmanager
def spooled(folder: Path | None) -> Iterator["Spool"]:
    """A spool in a file without a name, which is gone with the process; `folder` None: where the system has such."""
    with tempfile.TemporaryFile(dir=folder) as file:
        yield Spool(file)


class Spool:
    """Lines in a file, each of a kind; read by rank, equals as they came."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._end = file, 0
        self._kept: list[tuple[str, Rank, int, int]] = []  # kind, rank, where, bytes

    def add(self, kind: str, line: bytes, rank: Rank = ()) -> None:
        """Keep one more line."""
        self._file.write(line)
        self._kept.append((kind, rank, self._end, len(line)))
        self._end += len(line)

    def drop(self, kinds: Collection[str]) -> None:
        """Forget the lines of these kinds: they are told anew, or not at all."""
        self._kept = [one for one in self._kept if one[0] not in kinds]

    def counts(self) -> Counter[str]:
        """How many lines there are of each kind."""
        return Counter(kind for kind, *_ in self._kept)

    def __iter__(self) -> Iterator[str]:
        """All lines by rank; may be asked again."""
        self._file.flush()
        for _, _, at, size in sorted(self._kept, key=lambda one: one[1]):
            yield os.pread(self._file.fileno(), size, at).decode()

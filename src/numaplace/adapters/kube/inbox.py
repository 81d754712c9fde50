"""Between the task that reads a watch's socket and the one that decodes: bytes in, whole lines out.

The API server ends a watch whose client reads slowly, so the socket is emptied at
once, and what is decoded late waits here.
"""

import asyncio
from collections import deque

MOST_WAITING = 64 << 20  # bytes; past this the socket is left alone, and the server may end the watch
LONGEST_LINE = 16 << 20  # bytes; an object of an API server has at most 3 MiB


class LineTooLongError(ValueError):
    """What comes is no stream of events."""


class Inbox:
    """A queue of chunks with one writer and one reader."""

    def __init__(self, most_waiting: int = MOST_WAITING, longest_line: int = LONGEST_LINE) -> None:
        self._most_waiting, self._longest_line = most_waiting, longest_line
        self._chunks: deque[bytes] = deque()
        self._waiting = 0
        self._rest = b""
        self._ended: Exception | None = None
        self._filled, self._room = asyncio.Event(), asyncio.Event()
        self._room.set()

    async def put(self, chunk: bytes) -> None:
        """Take a chunk; waits while far too much is waiting already."""
        await self._room.wait()
        self._chunks.append(chunk)
        self._waiting += len(chunk)
        if self._waiting >= self._most_waiting:
            self._room.clear()
        self._filled.set()

    def end(self, error: Exception) -> None:
        """Nothing comes any more; `error` is raised by `lines` once everything before it was taken."""
        self._ended = error
        self._filled.set()

    async def lines(self) -> list[bytes]:
        """All whole lines that are there, at least one; half a line at the end of the stream is dropped."""
        while True:
            if not self._chunks:
                if self._ended is not None:
                    raise self._ended
                await self._filled.wait()
            lines = b"".join((self._rest, *self._chunks)).split(b"\n")
            self._chunks.clear()
            self._waiting = 0
            self._room.set()
            if self._ended is None:
                self._filled.clear()
            self._rest = lines.pop()
            if len(self._rest) > self._longest_line:
                raise LineTooLongError(f"a line of more than {self._longest_line} bytes")
            whole = [line for line in lines if line.strip()]
            if whole:
                return whole

"""Chunks of any cut become the same lines, and nothing is lost at the end."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.adapters.kube.inbox import Inbox


class EndedError(Exception):
    """The end of a stream."""


async def everything(inbox: Inbox) -> list[bytes]:
    lines: list[bytes] = []
    while True:
        try:
            lines += await inbox.lines()
        except EndedError:
            return lines


@given(lines=st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line and line.strip())), data=st.data())
def test_lines_are_whole_however_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"half a li"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    async def through() -> list[bytes]:
        inbox = Inbox()
        for chunk in chunks:
            await inbox.put(chunk)
        inbox.end(EndedError())
        return await everything(inbox)

    assert asyncio.run(through()) == lines


async def test_a_reader_far_behind_stops_the_writer_until_it_reads() -> None:
    inbox = Inbox(most_waiting=10)
    await inbox.put(b"0123456789\n")
    second = asyncio.create_task(inbox.put(b"more\n"))
    await asyncio.sleep(0)
    assert not second.done()
    assert await inbox.lines() == [b"0123456789"]
    await second
    assert await inbox.lines() == [b"more"]


async def test_a_line_without_end_is_an_error() -> None:
    inbox = Inbox(longest_line=10)
    await inbox.put(b"0123456789ab")
    with pytest.raises(ValueError, match="a line of more than 10 bytes"):
        await inbox.lines()

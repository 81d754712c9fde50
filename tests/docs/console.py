"""Console sessions in Markdown: what a reader is told to type, and what they are told to see.

A session is a fenced block ```console. `$ ` begins a command (a trailing backslash continues it),
`# exit N` at its end is the status a reader gets (0 otherwise), the lines below are its output.
No lines: the output is not told. A line `...` stands for any lines, `…` inside a line for any text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"(?P<mark>`{3,}|:{3,})\s*(?P<kind>[^`]*)")
_SESSION = re.compile(r"console|\{code-block\}\s+console")
_STATUS = re.compile(r"#\s*exit\s+(\d+)\s*$")
_ASSIGNMENT = re.compile(r"\w+=\S*\s+")
ANY_LINES = ("...", "…")


@dataclass(frozen=True)
class Command:
    """One command of a session: where it is written, what is typed, what is shown below it."""

    line: int
    text: str
    output: tuple[str, ...]

    @property
    def program(self) -> str:
        """The word that is run, without variables set in front of it."""
        text = self.text
        while match := _ASSIGNMENT.match(text):
            text = text[match.end() :]
        return text.split()[0]

    @property
    def status(self) -> int:
        """The exit status that the document promises."""
        match = _STATUS.search(self.text)
        return int(match[1]) if match else 0


def read_commands(page: Path) -> list[Command]:
    """All commands of a Markdown page, in the order in which a reader meets them."""
    return [command for first, block in _sessions(page.read_text().splitlines()) for command in _split(first, block)]


def output_matches(command: Command, real: str) -> bool:
    """Whether `real`, standard output and error as they came, is what the document shows."""
    if not command.output:
        return True
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() in ANY_LINES else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
        for line in command.output
    )
    shown = "".join(f"{line.rstrip()}\n" for line in real.splitlines())
    return re.fullmatch(pattern, shown) is not None


def _sessions(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Each fenced session: the number of its first line and its lines.

    Other code blocks are passed over whole, so a session shown inside one is not run; directives such as
    `{note}` are text and may hold sessions.
    """
    at = 0
    while at < len(lines):
        opened = _FENCE.fullmatch(lines[at].strip())
        at += 1
        if opened is None or not opened["kind"]:
            continue
        is_session = _SESSION.fullmatch(opened["kind"].strip()) is not None
        if not is_session and opened["kind"].startswith("{"):
            continue
        first = at
        while lines[at].strip() != opened["mark"]:
            at += 1
        if is_session:
            indent = len(lines[first - 1]) - len(lines[first - 1].lstrip())
            yield first + 1, [line[indent:] for line in lines[first:at]]
        at += 1


def _split(first: int, block: list[str]) -> Iterator[Command]:
    """The commands of one session; lines before the first command belong to the directive."""
    starts = [at for at, line in enumerate(block) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block)], strict=True):
        typed = start + 1
        while block[typed - 1].endswith("\\"):
            typed += 1
        text = "\n".join(block[start:typed]).removeprefix("$ ")
        output = block[typed:end]
        while output and not output[-1].strip():
            output.pop()
        yield Command(first + start, text, tuple(output))

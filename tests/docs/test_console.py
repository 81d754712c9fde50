"""How a console session in a document is read and compared; a rule that lets everything pass would hide lies."""

from pathlib import Path

import pytest

from tests.docs.console import Command, output_matches, read_commands

PAGE = """\
Text with `$ numaplace inline`.

```console
$ numaplace show \\
    --machine "2pkg 4numa"
2 packages
4 numas

$ FAST=1 numaplace explain pod.yaml  # exit 2
```

```yaml
$ not: a session
```

````markdown
```console
$ numaplace shown-but-not-run
```
````

1. In a list:

   ```{code-block} console
   :caption: with an option
   $ make demo
   ```
"""


@pytest.fixture
def commands(tmp_path: Path) -> list[Command]:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return read_commands(page)


def test_commands_are_found_in_sessions_only(commands: list[Command]) -> None:
    assert [(command.line, command.program) for command in commands] == [
        (4, "numaplace"),
        (9, "numaplace"),
        (26, "make"),
    ]


def test_a_command_may_go_over_lines_and_its_output_follows(commands: list[Command]) -> None:
    assert commands[0].text == 'numaplace show \\\n    --machine "2pkg 4numa"'
    assert commands[0].output == ("2 packages", "4 numas")


def test_the_status_is_zero_unless_the_document_says_otherwise(commands: list[Command]) -> None:
    assert [command.status for command in commands] == [0, 2, 0]


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        ("", "anything\n", True),
        ("one\ntwo", "one\ntwo\n", True),
        ("one\ntwo", "one  \ntwo", True),
        ("one", "one\ntwo\n", False),
        ("two", "one\ntwo\n", False),
        ("one\ntwo", "one\n\ntwo\n", False),
        ("one\n...", "one\ntwo\nthree\n", True),
        ("...\nthree", "one\ntwo\nthree\n", True),
        ("one\n...\nthree", "one\nthree\n", True),
        ("one\n…\nfour", "one\ntwo\nthree\n", False),
        ("took … s", "took 0.25 s\n", True),
        ("took … s", "took 0.25 minutes\n", False),
        ("took … s", "took\n s\n", False),
        ("a.b", "acb\n", False),
    ],
)
def test_output_is_compared_line_by_line(shown: str, real: str, same: bool) -> None:
    assert output_matches(Command(1, "numaplace", tuple(shown.splitlines())), real) is same

"""What kubectl asks to complete `kubectl numaplace …`: the words so far come as arguments, candidates go out.

The form is that of Cobra: a candidate a line, a tab before its description, and a last
line that says whether files are candidates too.
"""

import sys
from collections.abc import Sequence

from click.shell_completion import ShellComplete

from numaplace.model.errors import NumaplaceError
from numaplace.tools.cli.root import root

_FILES, _NO_FILES = ":0", ":4"  # ShellCompDirectiveDefault, ShellCompDirectiveNoFileComp


def main() -> None:
    """Complete the last argument; whatever goes wrong, no candidate is better than noise in a person's prompt."""
    *words, incomplete = sys.argv[1:] or [""]
    print("\n".join(candidates(words, incomplete)))


def candidates(words: Sequence[str], incomplete: str) -> list[str]:
    """The lines of the answer."""
    try:
        items = ShellComplete(root, {}, "numaplace", "").get_completions(list(words), incomplete)
    except (NumaplaceError, OSError):
        return [_NO_FILES]
    lines = [f"{one.value}\t{one.help}" if one.help else str(one.value) for one in items if one.type == "plain"]
    return [*lines, _FILES if any(one.type in ("file", "dir") for one in items) else _NO_FILES]

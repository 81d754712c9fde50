"""The root of the command line: `numaplace`, its table of commands, its errors.

A command is a row in `COMMANDS` and one file beside this one. Nothing of a
command is imported until that command runs, so `--help` answers at once.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar, NamedTuple, NoReturn

import click
from click.shell_completion import CompletionItem

from numaplace import __version__
from numaplace.model.errors import BrokenPromiseError, InputError, NumaplaceError
from numaplace.tools.show.plain import plain

EXIT_BAD_INPUT = 2  # the status click itself uses for a wrong option
EXIT_OUTPUT_LOST = 1  # as click does when standard output is closed early


class Entry(NamedTuple):
    """One command: where it lives and the line that `--help` prints for it."""

    target: str  # "module:attribute", a click command
    summary: str


COMMANDS: dict[str, Entry] = {
    "show": Entry("numaplace.tools.cli.show:show", "show a machine: this one, a captured or a described one"),
    "capture": Entry("numaplace.tools.cli.capture:capture", "write a machine, or a cluster, to a file"),
    "simulate": Entry("numaplace.tools.cli.simulate:simulate", "place Pods on a cluster that exists on paper"),
    "explain": Entry("numaplace.tools.cli.explain:explain", "say where a Pod would go, and why not elsewhere"),
    "status": Entry("numaplace.tools.cli.status:status", "say who holds what in a cluster, and who waits"),
    "planner": Entry("numaplace.tools.cli.planner:planner", "give the waiting Pods of a cluster their places"),
    "ungate": Entry("numaplace.tools.cli.ungate:ungate", "let waiting Pods go without a plan"),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports only the one that runs.

    `usual` is the command that is meant where none is named: `capture -o FILE` is
    `capture machine -o FILE`.
    """

    entries: ClassVar[Mapping[str, Entry]] = COMMANDS
    usual: ClassVar[str] = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the usual command's name in front where no other, and no help, is asked for."""
        first = args[0] if args else ""
        half_typed = ctx.resilient_parsing and not args
        named = first in self.entries or first in self.get_help_option_names(ctx)
        if self.usual and not named and not half_typed:
            args = [self.usual, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the table: the order in which people need them."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None when the table has no such name."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        try:
            command = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:  # those that only commands on a cluster need may be left out
            if error.name is None or error.name.partition(".")[0] == __name__.partition(".")[0]:
                raise
            wanted = "what `make venv` installs in a checkout, or there `pip install '.[planner]'`"
            raise InputError(f"numaplace {cmd_name}", found=f"no package {error.name}", wanted=wanted) from None
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.target} is not a click command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names from the table alone, and files where the usual command takes them."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        names = [CompletionItem(name, help=one.summary) for name, one in self.entries.items()]
        files = [CompletionItem(incomplete, type="file")] if self.usual else []
        return [one for one in names if one.value.startswith(incomplete)] + files

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone, importing none of them."""
        if self.entries:
            with formatter.section("Commands"):
                formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="numaplace", message="%(prog)s %(version)s")
def root() -> None:
    """Place CPU, GPU and RDMA together, and say why when it cannot be done."""


def kubectl_plugin() -> NoReturn:
    """The same as a plugin: `kubectl numaplace …` runs the program kubectl-numaplace."""
    main("kubectl numaplace")


def main(prog_name: str = "numaplace") -> NoReturn:
    """Run the command line of this process and exit.

    Status 0: done. 1: interrupted, or our output found no reader or no room. 2: the input
    or an option is wrong, told in one sentence on standard error, no traceback.
    """
    try:
        try:
            root.main(prog_name=prog_name)
        finally:
            sys.stdout.flush()
    except BrokenPromiseError:
        raise  # a defect of ours: whoever mends it needs the traceback
    except NumaplaceError as error:
        sys.stderr.write(plain(f"numaplace: {error}\n", sys.stderr.encoding))
        raise SystemExit(EXIT_BAD_INPUT) from None
    except OSError as error:
        # Only of output: whoever reads files has made an InputError of theirs. ENOSPC is /dev/full and a full disk.
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        # What is still buffered would fail once more, noisily, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.ENOSPC:
            sys.stderr.write("numaplace: standard output: found no space left; expected room for the answer\n")
        raise SystemExit(EXIT_OUTPUT_LOST) from None
    raise AssertionError("click ends the process itself")

"""The command line as a person meets it: help, version, one sentence for an error, quiet when the reader leaves."""

import subprocess
import sys
from pathlib import Path

import pytest

from numaplace import __version__
from numaplace.tools.cli.root import COMMANDS

NUMAPLACE = str(Path(sys.executable).with_name("numaplace"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NUMAPLACE, *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def run_with_command(body: str, *, pipe: str = "") -> subprocess.CompletedProcess[str]:
    """Run `numaplace broken` in a process whose table of commands has a row for it; `body` is what it does."""
    script = f"""
import sys, types
import click
from numaplace.model.errors import BrokenPromiseError, InputError
from numaplace.tools.cli import main, root
@click.command()
def broken():
    {body}
sys.modules["late"] = types.ModuleType("late")
sys.modules["late"].broken = broken
root.COMMANDS["broken"] = root.Entry("late:broken", "fails")
sys.argv = ["numaplace", "broken"]
main()
"""
    shell = f'set -o pipefail; "$0" -c "$1" {pipe}'
    return subprocess.run(["bash", "-c", shell, sys.executable, script], capture_output=True, text=True, check=False)


def test_version_names_the_program_and_its_version() -> None:
    assert run("--version").stdout == f"numaplace {__version__}\n"


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_every_command_with_its_line(option: str) -> None:
    done = run(option)
    assert done.returncode == 0
    for name, entry in COMMANDS.items():
        assert f"{name} " in done.stdout
        assert entry.summary.split()[0] in done.stdout


def test_help_imports_no_command_and_no_numpy() -> None:
    script = (
        "import sys; from numaplace.tools.cli import main; sys.argv[1:] = ['--help']\n"
        "try: main()\n"
        "finally: print(*sorted(sys.modules), file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr.split()
    assert "numaplace.tools.cli.root" in loaded
    assert {entry.target.partition(":")[0] for entry in COMMANDS.values()} & set(loaded) == set()
    assert {"numpy", "yaml"} & set(loaded) == set()


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself(name: str) -> None:
    done = run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: numaplace {name}")


def test_an_unknown_command_is_named() -> None:
    done = run("plaice")
    assert done.returncode == 2
    assert "plaice" in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_input_is_one_sentence_and_status_two() -> None:
    done = run_with_command('raise InputError("nodes.yaml: count", found="-1", wanted="a number of at least 1")')
    assert done.returncode == 2
    assert done.stderr == "numaplace: nodes.yaml: count: found -1; expected a number of at least 1\n"
    assert done.stdout == ""


def test_a_defect_of_ours_keeps_its_traceback() -> None:
    done = run_with_command('raise BrokenPromiseError("two holders of one GPU")')
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("write", ["print", "click.echo"])
@pytest.mark.parametrize("reader", ["head -n 1", "true"])
def test_a_reader_that_leaves_early_is_no_error_to_talk_about(write: str, reader: str) -> None:
    done = run_with_command(f"for line in range(100_000): {write}(line)", pipe=f"| {reader}")
    assert done.returncode == 1
    assert done.stderr == ""


@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_full_disk_is_one_sentence(lines: int) -> None:
    done = run_with_command(f"for line in range({lines}): click.echo(line)", pipe="> /dev/full")
    assert done.returncode == 1
    assert done.stderr == "numaplace: standard output: found no space left; expected room for the answer\n"


def test_a_name_in_a_complaint_cannot_move_the_cursor() -> None:
    done = run("show", "--sysroot", "absent\x1b[31m\u202e")
    assert done.stderr.startswith("numaplace: absent?[31m?: found nothing")


@pytest.mark.parametrize("command", ["status", "planner", "ungate"])
def test_a_package_that_is_not_installed_is_named_with_the_way_to_get_it(command: str) -> None:
    code = f"import sys; sys.modules['aiohttp'] = None; sys.argv[1:] = ['{command}', '--help']\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}from numaplace.tools.cli import main; main()"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"numaplace: numaplace {command}: found no package aiohttp; expected what `make venv` installs in a checkout, "
        "or there `pip install '.[planner]'`\n"
    )

"""`numaplace capture` as a person runs it."""

from pathlib import Path

from click.testing import CliRunner, Result

from numaplace.adapters.sysfs import read_tree
from numaplace.decide.discover import assemble
from numaplace.model.errors import InputError
from numaplace.tools.cli.capture import capture
from tests.adapters.sysfs.world import write_folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(capture, [str(one) for one in arguments])


def test_a_capture_shows_the_machine_that_it_was_taken_of(tmp_path: Path) -> None:
    machine, archive = write_folder(tmp_path / "machine"), tmp_path / "machine.tar.gz"
    done = run("-o", archive, "--sysroot", machine)
    assert done.exit_code == 0
    assert done.output == f"{archive}: 9 files of a machine with 2 CPUs, 0 GPUs and 0 HCAs\n"
    assert assemble(read_tree(archive)) == assemble(read_tree(machine))


def test_a_capture_of_a_capture_is_the_same(tmp_path: Path) -> None:
    first, second = tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"
    run("-o", first, "--sysroot", write_folder(tmp_path / "machine"))
    run("-o", second, "--sysroot", first)
    assert first.read_bytes() == second.read_bytes()


def test_a_root_without_a_machine_is_refused_and_nothing_written(tmp_path: Path) -> None:
    done = run("-o", tmp_path / "machine.tar.gz", "--sysroot", tmp_path)
    assert isinstance(done.exception, InputError)
    assert "found no machine; expected a root with sys/devices/system/cpu in it" in str(done.exception)
    assert list(tmp_path.iterdir()) == []

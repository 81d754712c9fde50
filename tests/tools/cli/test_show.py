"""`numaplace show` as a person meets it: every view, every kind of machine, and sentences for what is wrong."""

import json
import subprocess
from pathlib import Path

import pytest

from numaplace.adapters.sysfs import read_tree, write_capture
from numaplace.adapters.tree_files import write_tree
from numaplace.decide.discover import assemble
from numaplace.decide.discover.describe import tree_of
from numaplace.tools.cli.machine_file import read_machine
from numaplace.wire.machine import discovered, parse_machine
from numaplace.wire.topology import decode, encode
from tests.tools.cli.test_root import run
from tests.wire.test_nccl import SWITCHED

LINGJUN = "Machine: 192 CPUs, 2 packages, 2 NUMA domains, 2 TiB, 8 GPUs, 8 HCAs"


def shown(*arguments: str) -> str:
    finished = run("show", *arguments)
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


def refused(*arguments: str) -> str:
    finished = run("show", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.count("\n") == 1
    return finished.stderr


def test_the_machine_under_our_feet_is_shown() -> None:
    found = decode(shown("-o", "json"))
    assert found.topology.online
    assert shown().startswith("Machine: ")


@pytest.mark.parametrize(
    ("view", "beginning"),
    [
        ("tree", LINGJUN + "\n"),
        ("table", "NUMA  KIND"),
        ("matrix", "        GPU0  GPU1"),
        ("json", '{\n  "v": 1,\n  "online": "0-191",'),
        ("svg", '<svg xmlns="http://www.w3.org/2000/svg" width='),
    ],
)
def test_every_view_begins_as_it_should_and_ends_with_a_line(view: str, beginning: str) -> None:
    text = shown("--machine", "lingjun", "-o", view)
    assert text.startswith(beginning)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_a_machine_is_known_in_every_form(tmp_path: Path) -> None:
    tree, found = tree_of(parse_machine("lingjun")), discovered("lingjun")
    write_tree(tree, tmp_path / "folder")
    write_capture(tree, tmp_path / "capture.tar.gz")
    (tmp_path / "line.txt").write_text("2pkg 192cpu 2TiB 8gpu 8hca pix nvswitch\n")
    (tmp_path / "facts.yaml").write_text("like: lingjun\n")
    (tmp_path / "document.json").write_bytes(encode(found.topology, found.findings))
    for name in ("folder", "capture.tar.gz", "line.txt", "facts.yaml", "document.json"):
        assert read_machine(str(tmp_path / name)) == found, name
    for name in ("folder", "capture.tar.gz"):
        assert decode(shown("--sysroot", str(tmp_path / name), "-o", "json")) == found


def test_a_topology_file_of_nccl_is_shown(tmp_path: Path) -> None:
    (tmp_path / "topo.xml").write_text(SWITCHED)
    assert "GPU 1  0000:07:00.0" in shown("--machine", str(tmp_path / "topo.xml"))


def test_a_described_machine_is_written_out_and_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "root"
    assert shown("--machine", "2pkg 4numa 96cpu 8gpu 8hca pix", "--write-tree", str(folder)) == ""
    assert assemble(read_tree(folder)) == discovered("2pkg 4numa 96cpu 8gpu 8hca pix")
    assert "found something that exists" in refused("--machine", "lingjun", "--write-tree", str(folder))


def test_a_document_is_written_out_as_the_same_machine(tmp_path: Path) -> None:
    (tmp_path / "document.json").write_bytes(encode(discovered("dgx-a100").topology))
    shown("--machine", str(tmp_path / "document.json"), "--write-tree", str(tmp_path / "root"))
    assert assemble(read_tree(tmp_path / "root")) == discovered("dgx-a100")


def test_a_known_name_is_not_shadowed_by_a_folder_here(tmp_path: Path) -> None:
    (tmp_path / "lingjun").mkdir()
    finished = subprocess.run(
        [run.__globals__["NUMAPLACE"], "show", "--machine", "lingjun"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert finished.stdout.startswith(LINGJUN)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--machine", "2pkg 4nuna"), "numaplace: machine: found '4nuna'; expected one of 2pkg"),
        (("--machine", ""), "numaplace: machine: found no word; expected words like 2pkg"),
        (("--machine", "no/such/file.yaml"), "no/such/file.yaml: found no such file; expected a file, a folder"),
        (("--machine", "lingjun", "--sysroot", "/"), "--machine: found --sysroot beside it; expected one of the two"),
        (("--sysroot", "/no/such/root"), "/no/such/root"),
    ],
)
def test_what_is_wrong_gets_one_sentence_and_status_2(arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in refused(*arguments)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("m.yaml", "like: lingjun\nfault: {}\n", "m.yaml: found the unknown field 'fault'"),
        ("m.yaml", "a: [1\n", "m.yaml"),
        ("m.xml", "<graphs/>", "m.xml: found <graphs>"),
        ("m.json", json.dumps({"v": 7}), "m.json: v: found 7; expected version 1"),
        ("m.bin", "\x00\x01", "m.bin"),
        ("empty", "", "empty: found no word"),
    ],
)
def test_a_file_that_is_wrong_is_named(name: str, content: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert complaint in refused("--machine", str(tmp_path / name))


def test_an_unknown_view_names_the_views() -> None:
    finished = run("show", "-o", "picture")
    assert finished.returncode == 2
    assert "'tree', 'table', 'matrix', 'json', 'svg'" in finished.stderr

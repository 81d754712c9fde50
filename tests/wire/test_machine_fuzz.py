"""Whatever stands in a description or a topology file: a machine or one printable sentence, never a traceback."""

import sys
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from numaplace.decide.discover import assemble
from numaplace.decide.discover.describe import Description, tree_of
from numaplace.model.errors import InputError
from numaplace.wire import topology
from numaplace.wire.machine import machine, parse_machine
from numaplace.wire.machine_known import KNOWN
from numaplace.wire.machine_line import WORDS
from numaplace.wire.nccl import parse_nccl
from tests.properties.effort import examples
from tests.recorded import ROOT
from tests.wire.test_fuzz import ODD, anything, mutated_text
from tests.wire.test_nccl import SWITCHED

HARD = settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
LONGEST_SENTENCE = 4000

LINES = [word.example for word in WORDS] + list(KNOWN)
YAML = [file.read_text() for file in sorted((ROOT / "tests" / "machines").glob("*.yaml"))]
YAML += [known.text for known in KNOWN.values() if "\n" in known.text]
DOCUMENTS = [
    topology.encode(machine(name)).decode() for name in ("laptop-hybrid", "cloud-vm", "2pkg 8cpu 2gpu 2hca pix")
]
FIELDS = [
    "like",
    "numas",
    "unknown",
    "distances",
    "cores",
    "llcs",
    "nvlinks",
    "offline",
    "faults",
    "mig",
    "files",
    "smt",
]


def a_machine_or_a_sentence(read: Callable[[str], Description], text: str) -> None:
    """Read it, and what was read is a machine that discovery accepts and the document carries."""
    try:
        described = read(text)
    except InputError as error:
        sentence = str(error)
    else:
        sentence = ""
        found = assemble(tree_of(described))
        assert topology.decode(topology.encode(found.topology, found.findings)) == found
    assert len(sentence.encode()) < LONGEST_SENTENCE


@given(st.lists(st.sampled_from(LINES) | ODD | st.text(max_size=12), max_size=8).map(" ".join))
@example("9" * 400 + "cpu")
@example("2pkg 8cpu 99999999x1KiB")
@HARD
def test_a_line(text: str) -> None:
    a_machine_or_a_sentence(parse_machine, text)


@given(mutated_text(YAML))
@example("like: lingjun\nnumas: [{id: " + "9" * 5000 + "}]")
@example("a: &a [*a]")
@HARD
def test_yaml_that_was_damaged(text: str) -> None:
    a_machine_or_a_sentence(parse_machine, text)


@given(st.dictionaries(st.sampled_from(FIELDS), anything, max_size=4))
@HARD
def test_yaml_of_anything(thing: dict[str, object]) -> None:
    try:
        text = "x: 1\n" + msgspec.yaml.encode({"like": "2pkg 8cpu", **thing}).decode().replace("\0", "")
    except (TypeError, UnicodeError, ValueError, msgspec.MsgspecError):
        return
    a_machine_or_a_sentence(parse_machine, text.removeprefix("x: 1\n"))


@given(mutated_text([SWITCHED]))
@HARD
def test_a_damaged_topology_file(text: str) -> None:
    a_machine_or_a_sentence(parse_nccl, text)


@given(mutated_text(DOCUMENTS) | st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")))
@example(
    '{"v":1,"online":"0","numas":[{"id":0,"kind":"cpu","cpus":"0","memory_bytes":' + "9" * 400 + ',"distances":{}}]}'
)
@HARD
def test_a_damaged_topology_document(text: str) -> None:
    try:
        found = topology.decode(text, "t.json")
    except InputError as error:
        sentence = str(error)
    else:
        sentence = "t.json"
        assert topology.decode(topology.encode(found.topology, found.findings)) == found
    assert sentence.startswith("t.json")
    assert len(sentence) < LONGEST_SENTENCE


@pytest.mark.parametrize("depth", [10_000])
def test_depth_is_bounded_everywhere(depth: int) -> None:
    assert depth > sys.getrecursionlimit()
    for read, text in (
        (parse_machine, "[" * depth),
        (parse_machine, "numas: " + "[" * depth),
        (parse_machine, "\n".join("  " * level + "a:" for level in range(300))),
        (parse_nccl, "<a>" * depth),
        (topology.decode, "[" * depth),
    ):
        with pytest.raises(InputError):
            read(text)

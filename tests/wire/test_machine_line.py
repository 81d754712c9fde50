"""The one-line form: what its words mean, and the sentence for those that mean nothing."""

from collections import Counter

import pytest

from numaplace.model.errors import InputError
from numaplace.model.ids import NumaId
from numaplace.model.proximity import Level, level_between
from numaplace.model.topology import Topology
from numaplace.wire.machine import machine
from numaplace.wire.machine_known import KNOWN
from numaplace.wire.machine_line import WORDS, parse_size
from tests.recorded import ROOT


def cpus(topology: Topology) -> list[str]:
    return [str(numa.cpus) for numa in topology.numas]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2pkg 8cpu", ["0-1,4-5", "2-3,6-7"]),
        ("2pkg 8cpu paired", ["0-3", "4-7"]),
        ("2pkg 8cpu alternating", ["0,2,4,6", "1,3,5,7"]),
        ("2pkg 8cpu smt1", ["0-3", "4-7"]),
        ("2pkg nps2 16cpu", ["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"]),
        ("2pkg 1numa 8cpu", ["0-7"]),
        ("16cpu smt4", ["0-15"]),
        ("2pcore 4ecore", ["0-7"]),
        ("3cpu", ["0-2"]),
    ],
)
def test_cpus_are_numbered_as_servers_do_it(line: str, expected: list[str]) -> None:
    assert cpus(machine(line)) == expected


@pytest.mark.parametrize(
    ("line", "cores"),
    [
        ("8cpu", ["0,4", "1,5", "2,6", "3,7"]),
        ("8cpu paired", ["0-1", "2-3", "4-5", "6-7"]),
        ("2pkg 8cpu alternating", ["0,4", "1,5", "2,6", "3,7"]),
        ("8cpu smt4", ["0,2,4,6", "1,3,5,7"]),
        ("2pcore 2ecore", ["0-1", "2-3", "4", "5"]),
    ],
)
def test_siblings_stand_where_the_numbering_puts_them(line: str, cores: list[str]) -> None:
    assert [str(core) for core in machine(line).cores] == cores


def test_fast_and_slow_cores_are_told_apart_fastest_first() -> None:
    kinds = machine("6pcore 8ecore").core_kinds
    assert [(kind.name, str(kind.cpus)) for kind in kinds] == [("cpu_core", "0-11"), ("cpu_atom", "12-19")]


def test_memory_is_shared_out_and_hugepages_are_in_every_domain() -> None:
    topology = machine("2pkg 4numa 2TiB 512x2MiB")
    assert {numa.memory_bytes for numa in topology.numas} == {512 << 30}
    assert {numa.free_bytes for numa in topology.numas} == {(512 << 30) - (1 << 30)}
    assert {pool.total for numa in topology.numas for pool in numa.hugepages} == {512}


@pytest.mark.parametrize(
    ("line", "near", "far"), [("intel", 12, 21), ("amd", 12, 32), ("amd distance11/40", 11, 40), ("", 12, 21)]
)
def test_distances_have_two_values(line: str, near: int, far: int) -> None:
    topology = machine(f"2pkg nps2 64cpu {line}")
    assert topology.numa(NumaId(0)).distances == {0: 10, 1: near, 2: far, 3: far}


def test_amd_packages_have_a_cache_for_every_eight_cores() -> None:
    assert [len(llc.cpus) for llc in machine("2pkg 128cpu amd").llcs] == [16] * 8
    assert [len(llc.cpus) for llc in machine("2pkg 128cpu amd 2llc").llcs] == [32] * 4


@pytest.mark.parametrize(
    ("word", "level"), [("pix", Level.PIX), ("pxb", Level.PXB), ("phb", Level.PHB), ("node", Level.NODE)]
)
@pytest.mark.parametrize(("gpus", "hcas"), [(8, 8), (8, 4), (4, 8), (8, 2), (6, 4)])
def test_every_gpu_has_an_hca_as_near_as_the_line_says(word: str, level: Level, gpus: int, hcas: int) -> None:
    topology = machine(f"2pkg {gpus}gpu {hcas}hca {word}")
    assert (len(topology.gpus), len(topology.hcas)) == (gpus, hcas)
    assert {min(level_between(topology, gpu, hca) for hca in topology.hcas) for gpu in topology.gpus} == {level}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2pkg nps4 64cpu 8gpu", [1] * 8),
        ("2pkg nps4 64cpu 4gpu", [1, 0] * 4),
        ("2pkg nps4 64cpu 16gpu", [2] * 8),
        ("2pkg 2numa 64cpu 3gpu", [2, 1]),
    ],
)
def test_devices_are_spread_over_the_domains(line: str, expected: list[int]) -> None:
    topology = machine(line)
    homes = Counter(gpu.numa for gpu in topology.gpus)
    assert [homes[numa.id] for numa in topology.numas] == expected


def test_links_join_every_two_gpus() -> None:
    assert {link.count for link in machine("4gpu nvswitch").nvlinks} == {18}
    assert len(machine("4gpu nvswitch12").nvlinks) == 6
    assert machine("4gpu").nvlinks == ()


def test_ports_are_as_the_line_says() -> None:
    (port,) = machine("1hca roce 200gbps").hcas[0].ports
    assert (port.active, port.link_layer, port.link_gbps) == (True, "Ethernet", 200)


def test_devices_that_tell_no_domain_have_none_where_there_are_several() -> None:
    assert {gpu.numa for gpu in machine("2pkg 4gpu numa-unknown").gpus} == {None}
    assert {gpu.numa for gpu in machine("1pkg 4gpu numa-unknown").gpus} == {0}


def test_the_order_of_words_does_not_matter_and_equal_lines_are_one_machine() -> None:
    line = "2pkg 4numa 96cpu 8gpu 8hca pix"
    assert machine(" ".join(reversed(line.split()))) == machine(line)
    assert machine(line) is machine(line)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("2pkgs", "found '2pkgs'; expected one of 2pkg 4numa nps4 96cpu"),
        ("", "found no word; expected words like 2pkg"),
        ("2pkg 3pkg", "found '2pkg' and '3pkg'; expected one word about packages"),
        ("pix pxb", "expected one word about nearness"),
        ("4numa nps4", "expected one word about numas"),
        ("2pkg 7cpu", "found 7 CPUs; expected a multiple of 2"),
        ("4pkg 3numa 18cpu smt1", "packages: found 4 for 18 cores; expected a number that shares the cores evenly"),
        ("9999cpu", "found '9999cpu'; expected at most 8192 cpus"),
        ("2000numa", "expected at most 1024 numas"),
        ("500gpu", "expected at most 128 gpus"),
        ("4pcore 8cpu", "found pcore or ecore beside cpu"),
        ("8cpu 9llc", "found 9; expected at most one for each core"),
        ("1GiB 1024x2MiB", "hugepages: found 2147483648 bytes in a numa; expected at most its memory"),
        ("64gpu phb 64hca 1numa smt1 8cpu lingjun", "found 'lingjun'"),
    ],
)
def test_a_wrong_word_gets_a_sentence(line: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        machine(line)
    assert str(caught.value).startswith("machine")
    assert complaint in str(caught.value)


def test_every_example_of_the_language_is_in_the_language() -> None:
    for word in WORDS:
        assert machine(word.example).online


@pytest.mark.parametrize(("text", "size"), [("512GiB", 512 << 30), ("0MiB", 0), (" 2TiB ", 2 << 40)])
def test_sizes_are_binary(text: str, size: int) -> None:
    assert parse_size(text, "here") == size


@pytest.mark.parametrize("text", ["512", "512GB", "1.5TiB", "-1GiB", ""])
def test_a_size_without_a_binary_unit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"here: found .* like 512GiB"):
        parse_size(text, "here")


def test_the_manual_has_a_row_for_every_word_and_every_known_machine() -> None:
    manual = (ROOT / "docs" / "reference" / "machine-description.md").read_text()
    for word in [*(row.example for row in WORDS), *KNOWN]:
        assert f"`{word}`" in manual, word

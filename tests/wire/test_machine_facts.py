"""The YAML form: mistakes in it get a sentence that names the field; what it says is kept."""

import pytest

from numaplace.decide.discover import assemble
from numaplace.decide.discover.describe import tree_of
from numaplace.model.errors import InputError
from numaplace.model.ids import NumaId
from numaplace.model.topology import Topology
from numaplace.wire.machine import machine, parse_machine
from tests.recorded import ROOT

BASE = "numas: [{id: 0, cpus: 0-7, memory: 8GiB}]"


def topology_of(text: str) -> Topology:
    return assemble(tree_of(parse_machine(text, "m.yaml"))).topology


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("numas: []", "m.yaml: numas: found no CPU; expected cpus in at least one domain, or like: MACHINE"),
        ("numa: []\n", "found the unknown field 'numa'"),
        ("- a\n- b\n", "m.yaml: found a list; expected a mapping"),
        ("like: lingjun\n---\nlike: lingjun\n", "found 2 documents; expected one mapping"),
        ("like: lingjum\n", "m.yaml: like: found 'lingjum'; expected one of"),
        ("numas: [{id: 0, cpus: 9-3}]", "m.yaml: numas[0].cpus: CPU list: found '9-3'"),
        ("numas: [{id: 0, cpus: 0-9000}]", "numas[0].cpus: found 0-9000; expected CPU numbers below 8192"),
        ("numas: [{id: 0, cpus: 0-3}, {id: 0, cpus: 4-7}]", "numas[1].id: found 0 twice; expected each domain once"),
        ("numas: [{id: 0-3, cpus: 0-3}]", "numas[0].cpus: found 0-3; expected no CPUs where id is a range"),
        ("numas: [{id: 2000, cpus: 0-3}]", "numas[0].id: found 2000; expected a number below 1024, or a range"),
        ("numas: [{id: 0, cpus: 0-3, memory: 8GB}]", "numas[0].memory: found '8GB'; expected a number and one of KiB"),
        ("numas: [{id: 0, cpus: 0-3, hugepages: {2MiB: 9}}]", "hugepages: found 18874368 bytes; expected at most"),
        ("numas: [{id: 0, cpus: 0-3, memory: 1GiB, hugepages: {2MiB: -1}}]", "hugepages: found {'2MiB': -1}"),
        ("smt: 3\n" + BASE, "m.yaml: smt: found 3 for the 8 CPUs 0-7; expected a divisor"),
        ("smt: 0\n" + BASE, "m.yaml: smt: found 0; expected 1..8 threads a core"),
        ("cores: [0-3, 3-7]\n" + BASE, "cores: found '0-3', '3-7'; expected lists without a CPU in common"),
        ("llcs: [0-9]\n" + BASE, "llcs: found '0-9'; expected lists without a CPU in common, out of 0-7"),
        ("offline: 9\n" + BASE, "offline: found 9; expected CPUs of this machine, 0-7"),
        ("distances: [[10, 20]]\n" + BASE, "distances: found 1 rows; expected 1 rows of 1 numbers, or none at all"),
        ("distances: [[300]]\n" + BASE, "distances: found 300; expected 0..255"),
        ("like: lingjun\nnumas: [{id: 0, package: 1}]", "numas[0].package: found 1; expected no package beside like"),
        ("like: lingjun\nfaults: {mlx5_9: x}", "faults: found 'mlx5_9'; expected one of 0000:13:00.0"),
        ("like: lingjun\nmig: [mlx5_0]", "mig: found 'mlx5_0'"),
        ('like: lingjun\nfaults: {mlx5_0: "a\\nb"}', "faults: found 'a\\nb'; expected one line"),
        ("like: lingjun\nnvlinks: 99", "nvlinks: found 99; expected 0..36"),
        (
            "like: lingjun\nnvlinks: [{gpus: [0, 8], links: 1}]",
            "nvlinks[0].gpus: found [0, 8]; expected positions 0..7",
        ),
        ("like: lingjun\nfiles: {../../etc/passwd: x}", "files: found '../../etc/passwd'; expected a path of a file"),
        ("like: lingjun\nfiles: {sys/../x: x}", "files: found 'sys/../x'"),
        ("like: lingjun\nnumas: [{id: 0, gpus: 500}]", "numas[0].gpus: found 500; expected 0..128"),
        ("like: lingjun\nnumas: [{id: 0, gpus: [{pci: x}]}]", "numas[0].gpus[0].pci: PCI address: found 'x'"),
        ('like: lingjun\nnumas: [{id: 0, gpus: [{pci: "0000:13:00.0"}]}]', "PCI address: found 0000:13:00.0 twice"),
        ("like: lingjun\nnumas: [{id: 0, gpus: [{vendor: nvidia}]}]", "vendor: found 'nvidia'; expected four"),
        ("like: lingjun\nnumas: [{id: 0, gpus: [{memory-numa: 7}]}]", "expected a domain of this machine"),
        ("like: lingjun\nnumas: [{id: 0, hcas: [{name: a b}]}]", "hcas[0].name: found 'a b'; expected a device name"),
        ("like: lingjun\nnumas: [{id: 0, hcas: [{name: mlx5_0}]}]", "RDMA device name: found mlx5_0 twice"),
        ("like: lingjun\nunknown: {hcas: [{ports: [{link-layer: Token Ring}]}]}", "expected InfiniBand or Ethernet"),
        ("like: lingjun\nunknown: {hcas: [{ports: [{number: 1}, {number: 1}]}]}", "ports: found 2 ports; expected"),
        ("like: lingjun\nunknown: {bridges: [{gpus: 40}]}", "found 40; expected at most 31; add a switch"),
        ("like: 2pkg\nnumas: [{id: 0-1, gpus: 1}]", "numas[0]: found devices in 2 domains; expected devices in one"),
    ],
)
def test_a_mistake_gets_a_sentence_that_names_the_field(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_machine(text, "m.yaml")
    assert str(caught.value).startswith("m.yaml")
    assert complaint in str(caught.value)


def test_switches_too_deep_below_each_other_are_refused() -> None:
    switches = "switches: [{" * 9 + "gpus: 1" + "}]" * 9
    with pytest.raises(InputError, match="more than 8 switches below each other"):
        parse_machine(f"like: lingjun\nunknown: {{{switches}}}", "m.yaml")


def test_a_pci_address_needs_no_quotes() -> None:
    assert topology_of(BASE[:-2] + ", gpus: [{pci: 0000:47:00.0}]}]").gpus[0].pci == "0000:47:00.0"


def test_listed_devices_are_added_to_those_of_the_other_machine() -> None:
    topology = topology_of("like: lingjun\nnumas: [{id: 1, gpus: 1, nics: 1}]")
    assert len(topology.gpus) == 9
    assert set(machine("lingjun").gpus) <= set(topology.gpus)
    assert len(topology.pci) == len(machine("lingjun").pci) + 4  # a root port for each of the two


def test_siblings_are_half_a_domain_apart() -> None:
    topology = topology_of("smt: 2\nnumas: [{id: 0, cpus: '0-3,8-11', memory: 1GiB}]")
    assert [str(core) for core in topology.cores] == ["0,8", "1,9", "2,10", "3,11"]


def test_packages_hold_the_domains_that_name_them() -> None:
    topology = topology_of(
        "numas: [{id: 0, cpus: 0-1, package: 1}, {id: 1, cpus: 2-3, package: 0}, {id: 2, cpus: 4-5, package: 1}]"
    )
    assert [(package.id, str(package.cpus)) for package in topology.packages] == [(0, "2-3"), (1, "0-1,4-5")]
    assert topology.numa(NumaId(0)).distances == {0: 10, 1: 21, 2: 12}


def test_a_file_of_the_tree_can_say_something_else() -> None:
    topology = topology_of("like: 2pkg 8cpu\nfiles: {sys/devices/system/node/node1/cpulist: '0-7'}")
    assert str(topology.numa(NumaId(1)).cpus) == "0-7"


def test_the_example_of_the_manual_is_a_machine() -> None:
    manual = (ROOT / "docs" / "reference" / "machine-description.md").read_text()
    topology = topology_of(manual.partition("```yaml\n")[2].partition("```")[0])
    assert (len(topology.gpus), len(topology.hcas)) == (10, 9)
    assert sum(bool(gpu.fault) for gpu in topology.gpus) == 1
    assert [gpu.numa for gpu in topology.gpus].count(None) == 1

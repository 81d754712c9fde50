"""Machines of the field, told as facts in tests/machines: discovery finds in them what their notes say."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from numaplace.decide.discover import Discovery, assemble
from numaplace.decide.discover.describe import tree_of
from numaplace.model.devices import Gpu, Hca
from numaplace.model.errors import InputError
from numaplace.model.ids import HcaName, NumaId, PciAddress
from numaplace.model.proximity import Level, level_between
from numaplace.model.topology import NumaKind
from numaplace.wire.machine import parse_machine
from tests.recorded import ROOT

MACHINES = ROOT / "tests" / "machines"


def discovered(name: str) -> Discovery:
    file = MACHINES / f"{name}.yaml"
    return assemble(tree_of(parse_machine(file.read_text(), str(file))))


def homes(devices: Sequence[Gpu | Hca]) -> str:
    """`2 2 - 1`: the domain of each device in order, a dash for unknown."""
    return " ".join("-" if numa is None else str(numa) for numa in (device.numa for device in devices))


EXPECTED: list[tuple[str, str, str, dict[str, int]]] = [
    ("snc2-h100", "0 1 1 0 2 3 3 2", "0 0 1 1 2 2 3 3", {}),
    ("nps4-one-gpu-each", "3 2 0 1 7 6 4 5", "", {}),
    ("gpu-here-nic-there", "5", "6", {}),
    ("even-gpus-have-nics", "0 0 0 0 1 1 1 1", "0 0 0 0 1 1 1 1", {}),
    ("silent-vm", "- - - - - - - -", "-", {"NUMA_UNKNOWN": 9}),
    ("cxl-memory", "", "", {}),
    ("empty-socket", "0 1", "", {"CPU_OFFLINE": 1}),
    ("cpu-in-two-domains", "", "", {"CPU_IN_TWO_NUMAS": 1, "DISTANCE_MISSING": 1}),
    ("sparse-power", "0 0 8 8", "0 8", {}),
    ("mi300x", "0 0 0 0 1 1 1 1", "0 0 0 0 1 1 1 1", {}),
    ("wrong-numa-node", "0 1", "0 1", {"NUMA_CONFLICT": 1, "NUMA_UNKNOWN": 1}),
    ("sick-lingjun", "0 0 0 0 1 1 1 1", "0 0 0 0 1 1 1 1", {"DEVICE_FAULT": 2, "GPU_MIG": 1}),
]


@pytest.mark.parametrize(("name", "gpus", "hcas", "findings"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_devices_are_where_the_facts_put_them(name: str, gpus: str, hcas: str, findings: dict[str, int]) -> None:
    found = discovered(name)
    assert homes(found.topology.gpus) == gpus
    assert homes(found.topology.hcas) == hcas
    assert Counter(finding.code.value for finding in found.findings) == findings


def test_every_file_of_the_folder_is_expected() -> None:
    assert sorted(file.stem for file in MACHINES.glob("*.yaml")) == sorted(row[0] for row in EXPECTED)


def test_a_gpu_and_an_hca_of_one_package_are_a_socket_apart() -> None:
    topology = discovered("gpu-here-nic-there").topology
    assert level_between(topology, topology.gpus[0], topology.hcas[0]) is Level.SOCKET


def test_devices_on_one_flat_bus_are_behind_one_host_bridge_even_where_no_domain_is_told() -> None:
    topology = discovered("silent-vm").topology
    assert {level_between(topology, topology.gpus[0], other) for other in topology.gpus[1:]} == {Level.PHB}


def test_only_every_second_gpu_has_an_hca_at_its_switch() -> None:
    topology = discovered("even-gpus-have-nics").topology
    nearest = [min(level_between(topology, gpu, hca) for hca in topology.hcas) for gpu in topology.gpus]
    assert nearest == [Level.PIX, Level.NODE] * 4


def test_memory_of_cards_and_of_cxl_makes_domains_of_their_own_kinds() -> None:
    power, cxl = discovered("sparse-power").topology, discovered("cxl-memory").topology
    assert [numa.id for numa in power.numas] == [0, 8, 252, 253, 254, 255]
    assert {numa.kind for numa in power.numas if numa.id > 8} == {NumaKind.DEVICE_MEMORY}
    assert [cxl.numa(NumaId(id)).kind for id in (2, 3)] == [NumaKind.MEMORY, NumaKind.MEMORY]
    assert max(map(len, power.cores)) == 4


def test_an_offline_cpu_is_nowhere_and_a_socket_without_memory_says_so() -> None:
    topology = discovered("empty-socket").topology
    assert 5 not in topology.online
    sets = [*(n.cpus for n in topology.numas), *(p.cpus for p in topology.packages), *(c.cpus for c in topology.llcs)]
    assert all(5 not in cpus for cpus in sets)
    assert topology.numa(NumaId(1)).kind is NumaKind.CPU_WITHOUT_MEMORY


def test_sick_devices_are_named_with_what_ails_them() -> None:
    topology = discovered("sick-lingjun").topology
    assert {gpu.pci: gpu.fault for gpu in topology.gpus if gpu.fault} == {
        PciAddress("0000:31:00.0"): "fell off the bus"
    }
    assert [gpu.pci for gpu in topology.gpus if gpu.mig] == ["0000:4f:00.0"]
    assert {hca.name: hca.fault for hca in topology.hcas if hca.fault} == {HcaName("mlx5_6"): "loses packets"}
    assert {gpu.model for gpu in topology.gpus} == {"NVIDIA H800"}
    assert [(pool.page_bytes, pool.total) for pool in topology.numas[0].hugepages] == [(2 << 20, 1024), (1 << 30, 16)]


def test_links_of_a_full_mesh_join_every_pair() -> None:
    topology = discovered("mi300x").topology
    assert len(topology.nvlinks) == 28
    assert {gpu.vendor for gpu in topology.gpus} == {"1002"}


def test_a_file_is_named_in_complaints(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    with pytest.raises(InputError, match=r"m\.yaml: like: found 'lingjum'"):
        parse_machine("like: lingjum\n", str(file))

"""Machines that are known by name are what their public descriptions say."""

from collections import Counter

import pytest

from numaplace.model.ids import NumaId
from numaplace.model.proximity import Level, level_between
from numaplace.model.topology import NumaKind, Topology
from numaplace.wire.machine import discovered, machine
from numaplace.wire.machine_known import KNOWN


def nearest_hcas(topology: Topology) -> list[Level]:
    return [min(level_between(topology, gpu, hca) for hca in topology.hcas) for gpu in topology.gpus]


PARTS = [  # name, CPUs, packages, domains, GPUs, HCAs, GiB
    ("lingjun", 192, 2, 2, 8, 8, 2048),
    ("dgx-h100", 224, 2, 2, 8, 8, 2048),
    ("dgx-a100", 256, 2, 8, 8, 8, 1024),
    ("dgx-1", 80, 2, 2, 8, 4, 512),
    ("gb200", 144, 2, 34, 4, 4, 960 + 4 * 186),
    ("cloud-vm", 48, 1, 1, 4, 1, 384),
    ("l20", 128, 2, 2, 8, 2, 1024),
    ("laptop-hybrid", 20, 1, 1, 0, 0, 32),
    ("big-numa", 256, 2, 8, 16, 16, 2048),
]


@pytest.mark.parametrize(("name", "cpus", "packages", "numas", "gpus", "hcas", "memory_gib"), PARTS)
def test_a_known_machine_has_its_parts(
    name: str, cpus: int, packages: int, numas: int, gpus: int, hcas: int, memory_gib: int
) -> None:
    found = machine(name)
    counts = (len(found.online), len(found.packages), len(found.numas), len(found.gpus), len(found.hcas))
    assert counts == (cpus, packages, numas, gpus, hcas)
    assert sum(numa.memory_bytes or 0 for numa in found.numas) == memory_gib << 30


def test_every_known_machine_is_looked_at_here() -> None:
    assert {row[0] for row in PARTS} == set(KNOWN)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "cloud-vm"])
def test_a_known_machine_is_honest(name: str) -> None:
    assert discovered(name).findings == ()


def test_the_cloud_machine_is_doubted_aloud() -> None:
    assert Counter(finding.code.value for finding in discovered("cloud-vm").findings) == {"NUMA_UNKNOWN": 5}


def test_lingjun_pairs_each_gpu_with_an_hca_of_its_own() -> None:
    topology = machine("lingjun")
    assert set(nearest_hcas(topology)) == {Level.PIX}
    mates = [[h.name for h in topology.hcas if level_between(topology, g, h) is Level.PIX] for g in topology.gpus]
    assert [len(names) for names in mates] == [1] * 8
    assert len({name for names in mates for name in names}) == 8


def test_the_dgx_a100_has_its_gpus_on_every_second_domain() -> None:
    topology = machine("dgx-a100")
    assert [gpu.numa for gpu in topology.gpus] == [3, 3, 1, 1, 7, 7, 5, 5]
    assert str(topology.numa(NumaId(3)).cpus) == "48-63,176-191"
    assert set(nearest_hcas(topology)) == {Level.PXB}
    assert topology.numa(NumaId(0)).distances[NumaId(4)] == 32


def test_the_dgx_1_has_six_links_a_gpu_and_no_way_from_0_to_6_but_pcie() -> None:
    topology = machine("dgx-1")
    ends = Counter(end for link in topology.nvlinks for end in (link.a, link.b) for _ in range(link.count))
    assert [ends[gpu.pci] for gpu in topology.gpus] == [6] * 8
    assert level_between(topology, topology.gpus[0], topology.gpus[6]) is Level.SYS
    assert level_between(topology, topology.gpus[0], topology.gpus[4]) is Level.NV


def test_the_gb200_shows_the_memory_of_its_gpus_as_domains() -> None:
    topology = machine("gb200")
    kinds = Counter(numa.kind for numa in topology.numas)
    assert kinds == {NumaKind.CPU: 2, NumaKind.DEVICE_MEMORY: 4, NumaKind.INITIATOR: 28}
    assert [gpu.memory_numa for gpu in topology.gpus] == [2, 10, 18, 26]


def test_the_pcie_server_has_no_links_between_its_gpus() -> None:
    assert machine("l20").nvlinks == ()

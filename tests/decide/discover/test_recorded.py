"""Recorded machines against the index of what they are and against what hwloc found on them."""

import csv
import json
from functools import lru_cache
from pathlib import Path

import pytest

from numaplace.adapters.sysfs import read_tree
from numaplace.decide.discover import Discovery, assemble
from numaplace.decide.discover.sources import PCI
from numaplace.model.cpuset import CpuSet
from numaplace.model.finding import FindingCode
from numaplace.model.topology import NumaKind, Topology
from tests.decide.discover.hwloc import Cpus, Thing, read_hwloc
from tests.recorded import recorded_files

SNAPSHOTS = recorded_files("hwloc/snapshots/*/*.tar.bz2")
OUTPUTS = [
    one
    for one in (*recorded_files("hwloc/snapshots/*/*.console"), *recorded_files("hwloc/snapshots/*/*.xml"))
    if one.id != "hwloc/snapshots/test1.fsroot/test1.xml"  # of a machine that was made up, not of its files
]
TREES = [*SNAPSHOTS, *recorded_files("sysfs-extra/*.tar.bz2")]

NO_MACHINE = "test1.fsroot"
COMPUTE_UNITS = "64amd64-4p2n4ca2co"  # the kernel calls the two halves of a Bulldozer module siblings, hwloc cores
NO_CORES = "4fake-4gr1nu1pu"  # nothing is told of cores, which the index counts as one core
NUMBERLESS_PACKAGES = "20s390-2g6s4c"  # all package numbers are -1, which the index counts as one package


@lru_cache(maxsize=64)
def discovered(snapshot: Path) -> Discovery:
    return assemble(read_tree(snapshot))


def name_of(file: Path) -> str:
    return file.name.removesuffix(".tar.bz2")


@pytest.fixture
def row(snapshot: Path, shared_data: Path) -> dict[str, str]:
    """What the index says of the snapshot."""
    with (shared_data / "hwloc" / "index.csv").open() as file:
        return next(row for row in csv.DictReader(file) if row["snapshot"] == name_of(snapshot))


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_a_snapshot_is_what_the_index_says(snapshot: Path, row: dict[str, str]) -> None:
    topology = discovered(snapshot).topology
    numas = [numa for numa in topology.numas if int(row["numa_nodes"])]
    without_cpus = [numa for numa in numas if not numa.cpus]
    assert [numa.id for numa in numas] == ids(row["numa_ids"])
    assert [numa.id for numa in without_cpus if numa.kind is not NumaKind.INITIATOR] == ids(row["memory_only"])
    assert [n.id for n in numas if n.kind is NumaKind.CPU_WITHOUT_MEMORY] == ids(row["cpu_no_memory"])
    if name_of(snapshot) != NO_CORES:
        offline = int(row["cpus_with_topology"]) - len(topology.online)  # the index counts their cores
        assert len(topology.cores) + max(offline, 0) == int(row["cores"])
    assert sum(llc.level == 3 for llc in topology.llcs) == int(row["l3"])
    assert len(topology.dies) == int(row["dies"])
    if name_of(snapshot) not in (NO_MACHINE, NUMBERLESS_PACKAGES):
        assert len(topology.packages) == int(row["packages"])
    if row["online"]:
        assert topology.online == CpuSet.parse(row["online"])
    else:
        assert len(topology.online) == int(row["cpu_dirs"])


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_distances_and_functions_are_those_of_the_index(snapshot: Path, row: dict[str, str]) -> None:
    topology = discovered(snapshot).topology
    if row["distance_row0"] and topology.numas:
        told = ids(row["distance_row0"])
        # One snapshot has a row for the offline domain 0 too.
        assert list(topology.numas[0].distances.values()) == told[-len(topology.numas) :]
    assert len(topology.pci) == int(row["pci_functions"])
    assert len(topology.gpus) == int(row["gpus"])
    assert [hca.name for hca in topology.hcas] == row["infiniband"].split()
    told_by_itself = {
        int(id): count for id, count in json.loads(row["pci_numa"] or "{}").items() if id.lstrip("-").isdigit()
    }
    for id, count in told_by_itself.items():
        if id >= 0:
            assert sum(one.numa == id for one in topology.pci) >= count


def ids(words: str) -> list[int]:
    return [int(word) for word in words.split()]


@pytest.fixture
def seen(output: Path) -> Thing:
    return read_hwloc(output)


@pytest.fixture
def topology(output: Path) -> Topology:
    (snapshot,) = output.parent.glob("*.tar.bz2")
    return discovered(snapshot).topology


def within(sets: list[CpuSet], seen: Thing) -> set[Cpus]:
    """The sets as far as hwloc saw their CPUs: it leaves out those that a cgroup hides."""
    return {frozenset(cpus) & seen.cpus() for cpus in sets} - {frozenset()}


@pytest.mark.parametrize("output", OUTPUTS)
def test_hwloc_sees_the_same_processors(output: Path, seen: Thing, topology: Topology) -> None:
    assert seen.cpus() <= frozenset(topology.online)
    packages = within([package.cpus for package in topology.packages], seen)
    assert seen.sets_of("Package") - packages == set()
    if COMPUTE_UNITS not in output.name:
        assert seen.sets_of("Core") - within(list(topology.cores), seen) == set()
    if not output.stem.endswith("-merge"):  # hwloc was told to leave out what adds no structure
        assert seen.last_level_caches() - within([llc.cpus for llc in topology.llcs], seen) == set()


@pytest.mark.parametrize("output", OUTPUTS)
def test_hwloc_sees_the_same_domains(seen: Thing, topology: Topology) -> None:
    numas = {numa.id: numa for numa in topology.numas}
    assert seen.numas()
    for id, cpus in seen.numas().items():
        numa = next(numa for numa in topology.numas if numa.id == id)
        if numa.cpus:
            assert frozenset(numa.cpus) & seen.cpus() == cpus
    for id, size in seen.memories().items():
        assert {int(known): numa.memory_bytes for known, numa in numas.items()}[id] == size


@pytest.mark.parametrize("output", OUTPUTS)
def test_hwloc_puts_pci_functions_into_the_same_domains(seen: Thing, topology: Topology) -> None:
    known = {str(device.address): device.numa for device in topology.pci}
    for address, cpus in seen.functions().items():
        if address in known:
            holders = [numa.id for numa in topology.numas if cpus <= frozenset(numa.cpus)]
            assert known[address] == (holders[0] if len(holders) == 1 else None)


@pytest.mark.parametrize("snapshot", TREES)
def test_a_recorded_machine_has_whole_and_disjoint_parts(snapshot: Path) -> None:
    topology = discovered(snapshot).topology
    for sets in (topology.cores, [package.cpus for package in topology.packages]):
        assert sum(len(cpus) for cpus in sets) == len(topology.online)
        assert all(cpus and cpus.issubset(topology.online) for cpus in sets)
    assert (topology.online == CpuSet()) is (name_of(snapshot) == NO_MACHINE)


EXTRA = {
    # name: online, CPUs of each domain, cores, size of each LLC in CPUs, HCAs and GPUs
    "ghw-arm64-ec2": ("0", {0: "0"}, 1, [1]),
    "ghw-offline-cpus": ("0-1", {0: "0-1"}, 2, [1, 1]),
    "ghw-s390x": ("0-7", {0: "0-7"}, 4, [8]),
    "ghw-xeon-l5640-2n-sriov": (
        "0-23",
        {0: "0,2,4,6,8,10,12,14,16,18,20,22", 1: "1,3,5,7,9,11,13,15,17,19,21,23"},
        12,
        [12, 12],
    ),
    "nri-4s-nosnc-72c": (
        "0-143",
        {0: "0-17,72-89", 1: "18-35,90-107", 2: "36-53,108-125", 3: "54-71,126-143"},
        72,
        [36] * 4,
    ),
    "nri-desktop-10c": ("0-19", {0: "0-19"}, 10, [20]),
    "nri-sample1-hybrid16": ("0-15", {0: "0-15"}, 12, [16]),
}


@pytest.mark.parametrize("snapshot", recorded_files("sysfs-extra/*.tar.bz2"))
def test_other_recorded_machines_are_what_their_names_say(snapshot: Path) -> None:
    topology = discovered(snapshot).topology
    online, domains, cores, llcs = EXTRA[name_of(snapshot)]
    assert str(topology.online) == online
    assert {int(numa.id): str(numa.cpus) for numa in topology.numas} == domains
    assert len(topology.cores) == cores
    assert [len(llc.cpus) for llc in topology.llcs] == llcs


def test_a_machine_whose_functions_do_not_tell_their_domain_is_not_put_on_zero(shared_data: Path) -> None:
    found = discovered(
        shared_data / "hwloc/snapshots/32em64t-2n8c+dax+nvme+mic+dimms/32em64t-2n8c+dax+nvme+mic+dimms.tar.bz2"
    )
    unknown = [device.address for device in found.topology.pci if device.numa is None]
    assert {address.split(":")[1] for address in unknown} == {"7f", "ff"}  # both packages' own uncore
    assert any(f.code is FindingCode.NUMA_UNKNOWN and f.where == PCI and "92" in f.text for f in found.findings)
    near = {hca.name: (hca.pci, hca.numa) for hca in found.topology.hcas}
    assert near == {"mlx4_0": ("0000:82:00.0", 1), "scif0": (None, None)}


def test_gpu_memory_is_known_as_such(shared_data: Path) -> None:
    found = discovered(shared_data / "hwloc/snapshots/nvidiagpunumanodes/nvidiagpunumanodes.tar.bz2")
    assert {gpu.memory_numa for gpu in found.topology.gpus} == set(range(250, 256))
    kinds = {int(numa.id): numa.kind for numa in found.topology.numas}
    assert {id for id, kind in kinds.items() if kind is NumaKind.DEVICE_MEMORY} == set(range(250, 256))


def test_kinds_of_cores_are_told_apart(shared_data: Path) -> None:
    intel = discovered(shared_data / "sysfs-extra/nri-sample1-hybrid16.tar.bz2").topology.core_kinds
    assert [(kind.name, str(kind.cpus)) for kind in intel] == [("cpu_core", "0-7"), ("cpu_atom", "8-15")]
    arm = discovered(shared_data / "hwloc/snapshots/nvidia-dgx-gb10/nvidia-dgx-gb10.tar.bz2").topology.core_kinds
    assert [str(kind.cpus) for kind in arm] == ["5-9,15-19", "0-4,10-14"]

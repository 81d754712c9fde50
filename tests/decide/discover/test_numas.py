"""NUMA domains: ids with gaps, kinds, memory, and CPUs that two domains claim."""

import pytest

from numaplace.decide.discover.sources import CPU, FACTS, HUGEPAGES, MEMINFO, NODE, NVIDIA
from numaplace.model.finding import FindingCode
from numaplace.model.topology import HugepagePool, NumaKind
from tests.decide.discover.kernel import Files, codes, discover, two_sockets, without

KIB = 1024


def extra_domain(id: int, *, cpus: str = "", memory_kib: int | None = None) -> Files:
    """The two-socket machine with a third domain."""
    files = two_sockets() | {f"{NODE}/online": f"0-1,{id}", f"{NODE}/node{id}/cpulist": cpus}
    if memory_kib is not None:
        files[f"{NODE}/node{id}/meminfo"] = f"Node {id} MemTotal: {memory_kib} kB"
    return files


def kind_of(files: Files, id: int) -> NumaKind:
    return next(numa.kind for numa in discover(files).topology.numas if numa.id == id)


def test_a_domain_tells_its_cpus_and_memory_in_bytes() -> None:
    numa = discover(two_sockets()).topology.numas[1]
    assert (numa.id, numa.kind, str(numa.cpus)) == (1, NumaKind.CPU, "4-7")
    assert (numa.memory_bytes, numa.free_bytes) == (1048576 * KIB, 1024 * KIB)


@pytest.mark.parametrize("mask", ["f0", "000000f0", "00000000,000000f0"])
def test_old_kernels_tell_cpus_as_a_mask_only(mask: str) -> None:
    files = without(two_sockets(), "node1/cpulist") | {f"{NODE}/node1/cpumap": mask}
    assert str(discover(files).topology.numas[1].cpus) == "4-7"


def test_the_mask_serves_where_the_list_is_broken() -> None:
    found = discover(two_sockets() | {f"{NODE}/node1/cpulist": "4-", f"{NODE}/node1/cpumap": "f0"})
    assert str(found.topology.numas[1].cpus) == "4-7"
    assert codes(found) == {FindingCode.FILE_BROKEN}


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        (extra_domain(2, memory_kib=4096), NumaKind.MEMORY),
        (extra_domain(2, memory_kib=0), NumaKind.INITIATOR),
        (extra_domain(2, memory_kib=0) | {f"{NODE}/has_generic_initiator": "2"}, NumaKind.INITIATOR),
        (extra_domain(2, memory_kib=4096) | {f"{NODE}/has_generic_initiator": "2"}, NumaKind.DEVICE_MEMORY),
        (extra_domain(2) | {f"{NODE}/has_memory": "0-2"}, NumaKind.MEMORY),
        (extra_domain(2) | {f"{NODE}/has_memory": "0-1"}, NumaKind.INITIATOR),
        (extra_domain(2) | {f"{NODE}/has_normal_memory": "0-1"}, NumaKind.INITIATOR),
        (
            extra_domain(2, memory_kib=4096)
            | {f"{NVIDIA}/gpus/0004:05:00.0/numa_status": "Node:      2\nStatus:    online"},
            NumaKind.DEVICE_MEMORY,
        ),
        (extra_domain(2, memory_kib=4096) | {FACTS: "gpu 0000:3b:00.0 memory-numa 2"}, NumaKind.DEVICE_MEMORY),
        (extra_domain(2, memory_kib=0) | {FACTS: "gpu 0000:3b:00.0 memory-numa 2"}, NumaKind.DEVICE_MEMORY),
    ],
    ids=range(10),
)
def test_a_domain_without_cpus_is_of_some_other_kind(files: Files, kind: NumaKind) -> None:
    assert kind_of(files, 2) is kind


def test_a_domain_with_cpus_and_no_memory_is_usable_and_named() -> None:
    files = two_sockets() | {f"{NODE}/node1/meminfo": "Node 1 MemTotal: 0 kB"}
    assert kind_of(files, 1) is NumaKind.CPU_WITHOUT_MEMORY


def test_ids_are_names_with_gaps() -> None:
    files = {path.replace("node1/", "node250/"): text for path, text in two_sockets().items()}
    found = discover(files | {f"{NODE}/online": "0,250", f"{NODE}/possible": "0,250"})
    assert [numa.id for numa in found.topology.numas] == [0, 250]
    assert found.topology.numas[1].distances == {0: 21, 250: 10}
    assert found.findings == ()


def test_ids_are_sorted_by_number() -> None:
    assert [numa.id for numa in discover(extra_domain(10, memory_kib=1)).topology.numas] == [0, 1, 10]


def test_a_domain_that_is_not_online_is_left_out() -> None:
    found = discover(two_sockets() | {f"{NODE}/online": "1"})
    assert [numa.id for numa in found.topology.numas] == [1]
    assert codes(found) == {FindingCode.CPU_IN_NO_NUMA}


def test_a_domain_that_is_online_without_a_folder_is_doubted() -> None:
    found = discover(without(two_sockets(), "node1") | {f"{NODE}/node0/distance": "10 21"})
    assert [numa.id for numa in found.topology.numas] == [0]
    assert {FindingCode.FILE_BROKEN, FindingCode.CPU_IN_NO_NUMA} <= codes(found)


def test_cpus_in_two_domains_are_kept_as_told() -> None:
    found = discover(two_sockets() | {f"{NODE}/node1/cpulist": "0-7"})
    assert [str(numa.cpus) for numa in found.topology.numas] == ["0-3", "0-7"]
    assert codes(found) == {FindingCode.CPU_IN_TWO_NUMAS}


def test_without_domains_the_machine_is_one_with_all_memory() -> None:
    files = without(two_sockets(), "system/node") | {
        MEMINFO: "MemTotal:       2048 kB\nMemFree:        1024 kB",
        f"{HUGEPAGES}/hugepages-2048kB/nr_hugepages": "3",
        f"{HUGEPAGES}/hugepages-2048kB/free_hugepages": "1",
    }
    found = discover(files)
    (numa,) = found.topology.numas
    assert (numa.id, str(numa.cpus), numa.memory_bytes, numa.free_bytes) == (0, "0-7", 2048 * KIB, 1024 * KIB)
    assert numa.hugepages == (HugepagePool(2048 * KIB, total=3, free=1),)
    assert codes(found) == {FindingCode.NUMA_ABSENT}


def test_hugepages_of_a_domain_are_counted_in_pages() -> None:
    pool = f"{NODE}/node0/hugepages/hugepages-1048576kB"
    files = two_sockets() | {f"{pool}/nr_hugepages": "4", f"{pool}/free_hugepages": "9"}
    assert discover(files).topology.numas[0].hugepages == (HugepagePool(1 << 30, total=4, free=4),)


def test_memory_that_is_not_told_is_unknown_and_not_zero() -> None:
    found = discover(without(two_sockets(), "node1/meminfo"))
    assert (found.topology.numas[1].memory_bytes, found.topology.numas[1].kind) == (None, NumaKind.CPU)
    assert codes(found) == {FindingCode.MEMORY_ODD}


def test_domains_whose_memory_does_not_add_up_are_doubted() -> None:
    assert codes(discover(two_sockets() | {MEMINFO: "MemTotal: 8388608 kB"})) == {FindingCode.MEMORY_ODD}


def test_a_list_with_offline_cpus_is_cut_to_the_online_ones() -> None:
    files = two_sockets() | {f"{CPU}/online": "0-7", f"{NODE}/node1/cpulist": "4-87"}
    assert str(discover(files).topology.numas[1].cpus) == "4-7"

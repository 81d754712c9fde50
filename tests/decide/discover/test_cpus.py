"""CPUs, cores, dies and packages, on machines that tell more or less than the truth."""

import pytest

from numaplace.decide.discover import Discovery
from numaplace.decide.discover.sources import CPU, CPUINFO
from numaplace.model.finding import FindingCode
from tests.decide.discover.kernel import Files, codes, discover, two_sockets, without

SOCKETS = ["0-3", "4-7"]
CORES = ["0-1", "2-3", "4-5", "6-7"]


def packages(found: Discovery) -> list[str]:
    return [str(package.cpus) for package in found.topology.packages]


def cores(found: Discovery) -> list[str]:
    return [str(core) for core in found.topology.cores]


def for_all_cpus(files: Files, name: str, text: str) -> Files:
    return files | {f"{CPU}/cpu{cpu}/topology/{name}": text for cpu in range(8)}


def test_an_honest_machine_is_read_without_a_finding() -> None:
    found = discover(two_sockets())
    assert str(found.topology.online) == "0-7"
    assert packages(found) == SOCKETS
    assert [package.id for package in found.topology.packages] == [0, 1]
    assert cores(found) == CORES
    assert found.findings == ()


@pytest.mark.parametrize(
    ("missing", "online"),
    [
        pytest.param(["cpu/online"], "0-7", id="folders count where nothing lists the online CPUs"),
        pytest.param(["system/cpu/"], "0-7", id="NUMA lists count where there is no CPU folder at all"),
    ],
)
def test_online_cpus_come_from_the_next_best_source(missing: list[str], online: str) -> None:
    assert str(discover(without(two_sockets(), *missing)).topology.online) == online


def test_a_cpu_that_is_switched_off_is_not_online() -> None:
    files = without(two_sockets(), "cpu/online") | {f"{CPU}/cpu5/online": "0", f"{CPU}/cpu6/online": "1"}
    found = discover(files)
    assert str(found.topology.online) == "0-4,6-7"
    assert codes(found) == {FindingCode.CPU_OFFLINE}


def test_without_switches_a_cpu_without_topology_is_not_online() -> None:
    files = without(two_sockets(), "cpu/online", "cpu5/topology", "cpu6/topology") | {f"{CPU}/cpu6/online": "1"}
    assert str(discover(files).topology.online) == "0-4,6-7"


def test_offline_cpus_are_cut_out_of_every_set() -> None:
    found = discover(without(two_sockets(), "cpu3/topology", "cpu3/cache") | {f"{CPU}/online": "0-2,4-7"})
    assert cores(found) == ["0-1", "2", "4-5", "6-7"]
    assert packages(found) == ["0-2", "4-7"]
    assert [str(numa.cpus) for numa in found.topology.numas] == ["0-2", "4-7"]
    assert [str(llc.cpus) for llc in found.topology.llcs] == ["0-2", "4-7"]
    assert codes(found) == {FindingCode.CPU_OFFLINE}


@pytest.mark.parametrize("name", ["thread_siblings_list", "core_cpus", "thread_siblings"])
def test_siblings_are_read_under_their_old_names_and_as_masks(name: str) -> None:
    files = without(two_sockets(), "core_cpus_list")
    for cpu in range(8):
        first = cpu // 2 * 2
        text = f"{first}-{first + 1}" if name.endswith("list") else f"00000000,{3 << first:08x}"
        files[f"{CPU}/cpu{cpu}/topology/{name}"] = text
    assert cores(discover(files)) == CORES


def test_numbers_tell_cores_and_packages_where_no_set_does() -> None:
    found = discover(without(two_sockets(), "_list"))
    assert (packages(found), cores(found)) == (SOCKETS, CORES)


def test_a_cpu_whose_core_is_unknown_is_a_core_of_its_own() -> None:
    assert cores(discover(without(two_sockets(), "core_"))) == [str(cpu) for cpu in range(8)]


@pytest.mark.parametrize("silent", ["-1", "255", "65535", "4294967295"])
def test_a_package_number_that_means_unknown_leaves_the_sets_and_gets_the_lowest_free_one(silent: str) -> None:
    found = discover(for_all_cpus(two_sockets(), "physical_package_id", silent))
    assert packages(found) == SOCKETS
    assert [package.id for package in found.topology.packages] == [0, 1]


def test_without_any_word_on_packages_the_machine_is_one() -> None:
    found = discover(without(two_sockets(), "package"))
    assert packages(found) == ["0-7"]
    assert codes(found) == {FindingCode.PACKAGE_UNKNOWN}


def test_kernels_without_package_numbers_list_each_cpu_alone_which_is_no_package() -> None:
    files = for_all_cpus(two_sockets(), "physical_package_id", "-1")
    found = discover(files | {f"{CPU}/cpu{cpu}/topology/package_cpus_list": str(cpu) for cpu in range(8)})
    assert packages(found) == ["0-7"]


def test_a_guest_with_one_core_a_socket_has_as_many_packages() -> None:
    files = two_sockets()
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/topology/package_cpus_list"] = str(cpu)
        files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = str(cpu)
    assert packages(discover(files)) == [str(cpu) for cpu in range(8)]


def test_sets_that_a_kernel_cut_at_numa_domains_are_joined_by_the_package_number() -> None:
    # Linux 3.10 on Haswell with Cluster-on-Die: core_siblings ends at the NUMA domain.
    found = discover(for_all_cpus(two_sockets(), "physical_package_id", "0"))
    assert packages(found) == ["0-7"]
    assert codes(found) == {FindingCode.SIBLINGS_ODD}


def test_a_package_number_counts_inside_its_book_only() -> None:
    files = for_all_cpus(two_sockets(), "physical_package_id", "2")
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/topology/book_siblings_list"] = SOCKETS[cpu // 4]
    found = discover(files)
    named = {package.id: str(package.cpus) for package in found.topology.packages}
    assert named == {2: "0-3", 0: "4-7"}  # ids stay unique: the second gets a free one


def test_siblings_that_contradict_each_other_still_make_whole_cores() -> None:
    found = discover(two_sockets() | {f"{CPU}/cpu1/topology/core_cpus_list": "1-2"})
    assert cores(found) == CORES
    assert codes(found) == {FindingCode.SIBLINGS_ODD}


def test_siblings_without_the_cpu_itself_are_no_answer() -> None:
    found = discover(two_sockets() | {f"{CPU}/cpu1/topology/core_cpus_list": "4"})
    assert cores(found) == CORES  # CPU 0 says that CPU 1 is its sibling
    assert codes(found) == {FindingCode.SIBLINGS_ODD}


def test_a_core_across_numa_domains_is_doubted() -> None:
    siblings = {f"{CPU}/cpu{cpu}/topology/core_cpus_list": f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)}
    assert FindingCode.SIBLINGS_ODD in codes(discover(two_sockets() | siblings))


def test_eight_threads_make_one_core() -> None:
    assert cores(discover(for_all_cpus(two_sockets(), "core_cpus_list", "0-7"))) == ["0-7"]


def test_dies_are_named_inside_their_package() -> None:
    files = two_sockets()
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/topology/die_cpus_list"] = CORES[cpu // 2]
        files[f"{CPU}/cpu{cpu}/topology/die_id"] = str(cpu // 2 % 2)
    dies = discover(files).topology.dies
    assert [(die.package, die.id, str(die.cpus)) for die in dies] == [
        (0, 0, "0-1"),
        (0, 1, "2-3"),
        (1, 0, "4-5"),
        (1, 1, "6-7"),
    ]


def test_a_die_number_of_minus_one_is_no_die() -> None:
    assert discover(for_all_cpus(two_sockets(), "die_id", "-1")).topology.dies == ()


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        pytest.param(
            "processor : 0\nphysical id : 0\ncore id : 0\n\nprocessor : 1\nphysical id : 3\ncore id : 0\n",
            (["0", "1"], ["0", "1"]),
            id="x86 and ia64 tell package and core",
        ),
        pytest.param("processor\t: 0\n\nprocessor\t: 1\n", (["0-1"], ["0", "1"]), id="ppc64 tells CPUs only"),
        pytest.param(
            "# processors    : 2\nprocessor 0: version = FF\nprocessor 1: version = FF\n",
            (["0-1"], ["0", "1"]),
            id="s390",
        ),
    ],
)
def test_cpuinfo_alone_is_a_machine(blocks: str, expected: tuple[list[str], list[str]]) -> None:
    found = discover({CPUINFO: blocks})
    assert str(found.topology.online) == "0-1"
    assert (packages(found), cores(found)) == expected
    assert FindingCode.NUMA_ABSENT in codes(found)


def test_a_list_of_more_cpus_than_a_kernel_can_have_is_not_believed() -> None:
    found = discover(two_sockets() | {f"{CPU}/online": "0-65535"})
    assert str(found.topology.online) == "0-7"
    assert codes(found) == {FindingCode.FILE_BROKEN}


def test_a_root_without_a_machine_says_so() -> None:
    found = discover({})
    assert not found.topology.online
    assert found.topology.numas == ()
    assert codes(found) == {FindingCode.NOTHING_FOUND}

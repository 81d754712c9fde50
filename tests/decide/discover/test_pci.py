"""The NUMA domain of PCI functions, and where they hang."""

import pytest

from numaplace.decide.discover import Discovery, assemble
from numaplace.decide.discover.pci import bridge_path, function_on
from numaplace.decide.discover.sources import FACTS, PCI
from numaplace.model.devices import PciDevice
from numaplace.model.finding import FindingCode
from numaplace.model.ids import NumaId
from tests.decide.discover.kernel import Files, codes, discover, function, tree_of, two_sockets, without

BRIDGE, CARD = "pci0000:3a/0000:3a:00.0", "pci0000:3a/0000:3a:00.0/0000:3b:00.0"
GPU = {"class": "0x030200", "vendor": "0x10de", "device": "0x2330"}


def gpu(base: Files | None = None, bridge: str = "-1", **told: str) -> Discovery:
    """A machine with one GPU behind a bridge, each with its own word."""
    above, above_link = function(BRIDGE, **{"class": "0x060400", "vendor": "0x8086", "numa_node": bridge})
    card, card_link = function(CARD, **(GPU | told))
    return discover((two_sockets() if base is None else base) | above | card, above_link | card_link)


def card_of(found: Discovery) -> PciDevice:
    return next(device for device in found.topology.pci if device.address == "0000:3b:00.0")


def test_its_own_word_is_believed() -> None:
    found = gpu(numa_node="1", local_cpulist="4-7")
    assert card_of(found).numa == 1
    assert found.topology.gpus[0].numa == 1


def test_minus_one_is_not_zero() -> None:
    found = gpu(numa_node="-1", local_cpulist="0-7")
    assert found.topology.gpus[0].numa is None
    assert FindingCode.NUMA_UNKNOWN in codes(found)


@pytest.mark.parametrize(
    ("bridge", "local", "numa"),
    [
        ("1", "0-7", 1),  # the nearest bridge that tells
        ("1", "0-3", 1),  # a bridge is asked before the CPUs nearby
        ("-1", "4-7", 1),
        ("-1", "5", 1),  # a part of one domain names it
        ("-1", "3-4", None),  # parts of two name none
        ("-1", "0-7", None),  # the kernel lists every CPU where it knows nothing
        ("-1", "", None),
        ("9", "", None),  # a domain that does not exist is no word
    ],
)
def test_where_it_is_silent_bridges_and_near_cpus_are_asked(bridge: str, local: str, numa: int | None) -> None:
    found = gpu(bridge=bridge, numa_node="-1", local_cpulist=local)
    assert found.topology.gpus[0].numa == numa
    assert FindingCode.NUMA_UNKNOWN in codes(found)


def test_a_domain_that_does_not_exist_is_a_conflict_and_unknown() -> None:
    found = gpu(numa_node="7")
    assert found.topology.gpus[0].numa is None
    assert FindingCode.NUMA_CONFLICT in codes(found)


def test_near_cpus_of_another_domain_are_doubted_and_the_number_believed() -> None:
    found = gpu(numa_node="0", local_cpulist="4-7")
    assert found.topology.gpus[0].numa == 0
    assert FindingCode.NUMA_CONFLICT in codes(found)


def test_on_a_machine_of_one_domain_there_is_nothing_to_guess() -> None:
    one = without(two_sockets(), "node1") | {"sys/devices/system/node/online": "0"}
    found = gpu(one | {"sys/devices/system/node/node0/cpulist": "0-7"}, numa_node="-1")
    assert found.topology.gpus[0].numa == 0
    unknown = [finding.text for finding in found.findings if finding.code is FindingCode.NUMA_UNKNOWN]
    assert unknown == ["its NUMA domain is not told: taken as 0, the only one with CPUs"]


def test_a_domain_of_memory_alone_does_not_make_the_place_of_a_card_doubtful() -> None:
    memory_only = two_sockets() | {
        "sys/devices/system/node/node1/cpulist": "",
        "sys/devices/system/node/node0/cpulist": "0-7",
    }
    assert gpu(memory_only, numa_node="-1").topology.gpus[0].numa == 0


def test_a_virtual_function_lies_where_its_physical_one_does() -> None:
    physical, first = function("pci0000:3a/0000:3b:00.0", numa_node="1", vendor="0x15b3")
    virtual, second = function("pci0000:00/0000:00:09.0", numa_node="-1", vendor="0x15b3")
    links = first | second | {"sys/devices/pci0000:00/0000:00:09.0/physfn": "sys/devices/pci0000:3a/0000:3b:00.0"}
    found = discover(two_sockets() | physical | virtual, links)
    assert [(device.address, device.numa, device.physical) for device in found.topology.pci] == [
        ("0000:00:09.0", 1, "0000:3b:00.0"),
        ("0000:3b:00.0", 1, None),
    ]


def test_the_operators_word_beats_every_other() -> None:
    card, link = function(CARD, **GPU, numa_node="0", local_cpulist="0-3")
    tree = tree_of(two_sockets() | card | {FACTS: "pci 0000:3b:00.0 numa 0"}, link)
    found = assemble(tree, overrides={"0000:3b:00.0": NumaId(1)})
    assert found.topology.gpus[0].numa == 1
    assert found.findings == ()


def test_an_override_to_a_domain_that_does_not_exist_is_a_conflict() -> None:
    card, link = function(CARD, **GPU, numa_node="0")
    found = assemble(tree_of(two_sockets() | card, link), overrides={"0000:3b:00.0": NumaId(5)})
    assert found.topology.gpus[0].numa == 0
    assert codes(found) == {FindingCode.NUMA_CONFLICT}


def test_functions_that_nobody_places_share_one_finding() -> None:
    files = two_sockets()
    links: Files = {}
    for slot in range(3):
        more, link = function(f"pci0000:ff/0000:ff:0{slot}.0", **{"class": "0x088000", "numa_node": "-1"})
        files |= more
        links |= link
    (finding,) = discover(files, links).findings
    assert (finding.code, finding.where) == (FindingCode.NUMA_UNKNOWN, PCI)
    assert finding.text.startswith("3 PCI functions")


def test_class_vendor_driver_and_path_are_read() -> None:
    card, link = function(CARD, **GPU, numa_node="0")
    driver = {f"sys/devices/{CARD}/driver": "sys/bus/pci/drivers/nvidia"}
    device = discover(two_sockets() | card, link | driver).topology.pci[0]
    assert (device.class_code, device.vendor, device.device) == (0x030200, "10de", "2330")
    assert (device.driver, device.path) == ("nvidia", ("pci0000:3a", "0000:3a:00.0"))


@pytest.mark.parametrize(
    ("path", "bridges"),
    [
        ("sys/devices/pci0000:00/0000:00:02.0", ("pci0000:00",)),
        (
            "sys/devices/pci0000:64/0000:64:05.5/pci10000:00/10000:00:02.0/10000:01:00.0",  # behind VMD
            ("pci0000:64", "0000:64:05.5", "pci10000:00", "10000:00:02.0"),
        ),
        ("sys/devices/LNXSYSTM:00/VMBUS:00/47505500-0001/pci0001:00/0001:00:00.0", ("pci0001:00",)),
        ("sys/devices/platform/40000000.pcie/pci0000:00/0000:00:01.0", ("pci0000:00",)),
        ("sys/bus/pci/devices/0004:05:00.0", ()),
    ],
)
def test_a_bridge_path_begins_at_the_host_bridge(path: str, bridges: tuple[str, ...]) -> None:
    assert bridge_path(path) == bridges


def test_the_function_on_a_path_is_the_last_one() -> None:
    assert function_on("sys/devices/pci0000:20/0000:20:00.0/0000:24:00.0/virtio0/net/ens1") == "0000:24:00.0"
    assert function_on("sys/devices/virtual/net/lo") is None

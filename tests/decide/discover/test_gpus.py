"""Which functions are accelerator cards, and what drivers and facts add to them."""

import pytest

from numaplace.decide.discover import Discovery
from numaplace.decide.discover.sources import FACTS, KFD, NVIDIA
from numaplace.model.devices import Gpu, NvLink
from numaplace.model.finding import FindingCode
from numaplace.model.ids import parse_pci_address
from tests.decide.discover.kernel import Files, codes, discover, function, two_sockets

UUID = "GPU-6f3b2a10-1234-4abc-8def-0123456789ab"
INFORMATION = f"Model: \t\t NVIDIA H800\nIRQ:   \t\t 64\nGPU UUID: \t {UUID}\nDevice Minor: \t 3\n"


def cards(*functions: tuple[str, str, str, str], more: Files | None = None) -> Discovery:
    """A machine with functions (address, class, vendor, device) and more files."""
    files = two_sockets() | (more or {})
    links: Files = {}
    for address, code, vendor, device in functions:
        told, link = function(
            f"pci0000:00/{address}", **{"class": code, "vendor": vendor, "device": device, "numa_node": "0"}
        )
        files |= told
        links |= link
    return discover(files, links)


def h800(**more: str) -> Gpu:
    return only(cards(("0000:3b:00.0", "0x030200", "0x10de", "0x2324"), more=more))


def only(found: Discovery) -> Gpu:
    (gpu,) = found.topology.gpus
    return gpu


@pytest.mark.parametrize(
    ("what", "address", "code", "vendor", "device"),
    [
        ("NVIDIA H100", "0000:3b:00.0", "0x030200", "0x10de", "0x2330"),
        ("NVIDIA V100, shown as VGA", "0004:05:00.0", "0x030000", "0x10de", "0x1db1"),
        ("AMD MI300X", "0000:05:00.0", "0x120000", "0x1002", "0x74a1"),
        ("AMD MI210", "0000:05:00.0", "0x038000", "0x1002", "0x740f"),
        ("Intel Max 1550", "0000:18:00.0", "0x038000", "0x8086", "0x0bd5"),
        ("Huawei Ascend 910", "0000:c1:00.0", "0x120000", "0x19e5", "0xd802"),
        ("Habana Gaudi 2", "0000:19:00.0", "0x120000", "0x1da3", "0x1020"),
        ("Cambricon", "0000:19:00.0", "0x120000", "0xcabc", "0x0370"),
        ("T-Head PPU", "0000:19:00.0", "0x030200", "0x1ded", "0x6001"),
        ("Hygon DCU, shown as a coprocessor", "0000:04:00.0", "0x0b4000", "0x1d94", "0x6210"),
    ],
)
def test_these_are_accelerators(what: str, address: str, code: str, vendor: str, device: str) -> None:
    assert only(cards((address, code, vendor, device))).vendor == vendor[2:], what


@pytest.mark.parametrize(
    ("what", "address", "code", "vendor", "device"),
    [
        ("ASPEED BMC", "0000:03:00.0", "0x030000", "0x1a03", "0x2000"),
        ("Matrox BMC", "0000:03:00.0", "0x030000", "0x102b", "0x0534"),
        ("Huawei BMC", "0000:03:00.0", "0x030000", "0x19e5", "0x1711"),
        ("ATI ES1000 BMC", "0000:03:00.0", "0x030000", "0x1002", "0x515e"),
        ("QEMU VGA", "0000:00:02.0", "0x030000", "0x1234", "0x1111"),
        ("virtio GPU", "0000:00:02.0", "0x038000", "0x1af4", "0x1050"),
        ("graphics inside an Intel CPU", "0000:00:02.0", "0x030000", "0x8086", "0x3e9a"),
        ("the same without a screen", "0000:00:02.0", "0x038000", "0x8086", "0x3e9a"),
        ("NPU inside an Intel CPU", "0000:00:0b.0", "0x120000", "0x8086", "0x7d1d"),
        ("Xilinx FPGA", "0000:05:00.0", "0x120000", "0x10ee", "0x5020"),
        ("NVIDIA's own audio function", "0000:3b:00.1", "0x040300", "0x10de", "0x22a3"),
        ("NVSwitch", "0000:c0:00.0", "0x068000", "0x10de", "0x22a3"),
        ("Xeon Phi coprocessor", "0000:05:00.0", "0x0b4000", "0x8086", "0x225e"),
        ("Alibaba eRDMA", "0000:05:00.0", "0x00ff00", "0x1ded", "0x107f"),
        ("network card", "0000:05:00.0", "0x020000", "0x15b3", "0x1021"),
    ],
)
def test_these_are_none(what: str, address: str, code: str, vendor: str, device: str) -> None:
    assert cards((address, code, vendor, device)).topology.gpus == (), what


def test_a_virtual_function_is_no_whole_card() -> None:
    told, link = function("pci0000:00/0000:3b:00.4", **{"class": "0x030200", "vendor": "0x10de", "numa_node": "0"})
    physfn = {"sys/devices/pci0000:00/0000:3b:00.4/physfn": "sys/devices/pci0000:00/0000:3b:00.0"}
    assert discover(two_sockets() | told, link | physfn).topology.gpus == ()


def test_the_driver_tells_uuid_and_model() -> None:
    gpu = h800(**{f"{NVIDIA}/gpus/0000:3b:00.0/information": INFORMATION})
    assert (gpu.uuid, gpu.model, gpu.mig, gpu.fault) == (UUID, "NVIDIA H800", False, "")


def test_a_card_that_was_never_used_has_no_uuid_yet() -> None:
    gpu = h800(**{f"{NVIDIA}/gpus/0000:3b:00.0/information": "GPU UUID: \t GPU-????????-????-????-????-????????????"})
    assert gpu.uuid is None


def test_instances_of_a_card_mean_mig_mode() -> None:
    found = cards(
        ("0000:3b:00.0", "0x030200", "0x10de", "0x2324"),
        more={
            f"{NVIDIA}/gpus/0000:3b:00.0/information": INFORMATION,
            f"{NVIDIA}/capabilities/gpu3/mig/gi1/access": "DeviceFileMinor: 12",
        },
    )
    assert only(found).mig
    assert codes(found) == {FindingCode.GPU_MIG}


def test_an_excluded_card_is_at_fault() -> None:
    gpu = h800(**{f"{NVIDIA}/gpus/0000:3b:00.0/information": "GPU Excluded:\t Yes"})
    assert gpu.fault == "excluded by its driver"


def test_a_card_that_was_given_to_a_virtual_machine_is_at_fault() -> None:
    told, link = function("pci0000:00/0000:3b:00.0", **{"class": "0x030200", "vendor": "0x10de", "numa_node": "0"})
    driver = {"sys/devices/pci0000:00/0000:3b:00.0/driver": "sys/bus/pci/drivers/vfio-pci"}
    found = discover(two_sockets() | told, link | driver)
    assert "vfio-pci" in only(found).fault
    assert codes(found) == {FindingCode.DEVICE_FAULT}


def test_a_card_that_only_the_driver_shows_is_kept_with_its_place_unknown() -> None:
    found = discover(two_sockets() | {f"{NVIDIA}/gpus/0000:3B:00.0/information": INFORMATION})
    gpu = only(found)
    assert (gpu.pci, gpu.vendor, gpu.numa, gpu.path, gpu.uuid) == ("0000:3b:00.0", "10de", None, (), UUID)
    assert codes(found) == {FindingCode.NUMA_UNKNOWN}


def test_memory_of_a_card_is_a_domain_only_if_that_exists() -> None:
    status = {f"{NVIDIA}/gpus/0000:3b:00.0/numa_status": "Node:      1\nStatus:    online"}
    assert h800(**status).memory_numa == 1
    offline = {f"{NVIDIA}/gpus/0000:3b:00.0/numa_status": "Node:      1\nStatus:    offline"}
    assert h800(**offline).memory_numa is None
    found = cards(("0000:3b:00.0", "0x030200", "0x10de", "0x2324"), more={FACTS: "gpu 0000:3b:00.0 memory-numa 9"})
    assert only(found).memory_numa is None
    assert codes(found) == {FindingCode.NUMA_CONFLICT}


def test_facts_add_what_no_file_shows() -> None:
    lines = [
        f"gpu 0000:3b:00.0 uuid {UUID}",
        "gpu 0000:3b:00.0 model NVIDIA H800",
        "gpu 0000:3b:00.0 mig on",
        "gpu 0000:3b:00.0 fault fell off the bus",
        "nvlink 0000:5e:00.0 0000:3b:00.0 8",
        "nvlink 0000:5e:00.0 0000:99:00.0 8",
    ]
    found = cards(
        ("0000:3b:00.0", "0x030200", "0x10de", "0x2324"),
        ("0000:5e:00.0", "0x030200", "0x10de", "0x2324"),
        more={FACTS: "\n".join(lines)},
    )
    first, second = found.topology.gpus
    assert (first.uuid, first.model, first.mig, first.fault) == (UUID, "NVIDIA H800", True, "fell off the bus")
    assert (second.uuid, second.model, second.mig, second.fault) == (None, "", False, "")
    # A link to a card that is not there is none.
    assert found.topology.nvlinks == (NvLink(first.pci, second.pci, 8),)
    assert codes(found) == {FindingCode.GPU_MIG, FindingCode.DEVICE_FAULT}


def kfd_node(id: int, bus: int, unique: int, links_to: tuple[int, ...] = (), kind: int = 11) -> Files:
    files = {f"{KFD}/{id}/properties": f"simd_count 304\ndomain 0\nlocation_id {bus << 8}\nunique_id {unique}"}
    for number, other in enumerate(links_to):
        files[f"{KFD}/{id}/io_links/{number}/properties"] = f"type {kind}\nnode_from {id}\nnode_to {other}\nweight 15"
    return files


MI300 = [("0000:05:00.0", "0x120000", "0x1002", "0x74a1"), ("0000:26:00.0", "0x120000", "0x1002", "0x74a1")]


def test_kfd_tells_unique_ids_and_xgmi_links() -> None:
    more = {f"{KFD}/0/properties": "cpu_cores_count 4\nsimd_count 0"}
    more |= kfd_node(1, 0x05, 255, links_to=(0, 2)) | kfd_node(2, 0x26, 256, links_to=(0, 1))
    found = cards(*MI300, more=more)
    assert [gpu.uuid for gpu in found.topology.gpus] == ["GPU-00000000000000ff", "GPU-0000000000000100"]
    assert found.topology.nvlinks == (NvLink(parse_pci_address("05:00.0"), parse_pci_address("26:00.0"), 1),)


def test_pcie_links_of_kfd_are_no_xgmi() -> None:
    more = kfd_node(1, 0x05, 0, links_to=(2,), kind=2) | kfd_node(2, 0x26, 0)
    found = cards(*MI300, more=more)
    assert found.topology.nvlinks == ()
    assert [gpu.uuid for gpu in found.topology.gpus] == [None, None]


def test_a_card_shown_as_several_compute_devices_is_split() -> None:
    found = cards(MI300[0], more=kfd_node(1, 0x05, 7) | kfd_node(2, 0x05, 7))
    assert only(found).mig

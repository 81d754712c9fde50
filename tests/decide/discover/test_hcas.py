"""RDMA devices: the function behind each, ports, and those that are made of software."""

import pytest

from numaplace.decide.discover import Discovery
from numaplace.decide.discover.sources import FACTS, HCA, NET
from numaplace.model.devices import Hca, Port
from numaplace.model.finding import FindingCode
from tests.decide.discover.kernel import Files, codes, discover, function, two_sockets

CARD = "pci0000:3a/0000:3a:00.0/0000:3b:00.0"


def hca(name: str = "mlx5_0", numa_node: str = "1", told: Files | None = None, **more: str) -> Discovery:
    card, link = function(CARD, **{"class": "0x020700", "vendor": "0x15b3", "numa_node": numa_node})
    real = f"sys/devices/{CARD}/infiniband/{name}"
    files = {f"{real}/{path}": text for path, text in ((told or {}) | more).items()}
    links = link | {f"{HCA}/{name}": real, f"{real}/device": f"sys/devices/{CARD}"}
    return discover(two_sockets() | card | files, links)


def only(found: Discovery) -> Hca:
    (one,) = found.topology.hcas
    return one


def test_an_hca_lies_where_its_function_does() -> None:
    found = hca(node_type="1: CA")
    one = only(found)
    assert (one.name, one.pci, one.numa, one.vendor) == ("mlx5_0", "0000:3b:00.0", 1, "15b3")
    assert one.path == ("pci0000:3a", "0000:3a:00.0")
    assert found.findings == ()


@pytest.mark.parametrize("name", ["mlx5_bond_0", "rocep59s0", "ibp12s0f1", "irdma0", "efa_0", "bnxt_re0", "erdma_0"])
def test_any_name_will_do(name: str) -> None:
    assert only(hca(name, node_type="1: CA")).name == name


@pytest.mark.parametrize(
    ("node_type", "count"), [("1: CA", 1), ("4: RNIC", 1), ("7: unspecified", 1), ("2: SWITCH", 0), ("3: ROUTER", 0)]
)
def test_switches_and_routers_are_no_hcas(node_type: str, count: int) -> None:
    assert len(hca(node_type=node_type).topology.hcas) == count


@pytest.mark.parametrize(
    ("told", "port"),
    [
        (("4: ACTIVE", "InfiniBand", "400 Gb/sec (4X NDR)"), Port(1, True, "InfiniBand", 400.0)),
        (("1: DOWN", "Ethernet", "2.5 Gb/sec (1X SDR)"), Port(1, False, "Ethernet", 2.5)),
        (("5: ACTIVE_DEFER", "Unknown", "100 Gb/sec"), Port(1, False, "", 100.0)),
    ],
)
def test_a_port_tells_state_link_layer_and_rate(told: tuple[str, str, str], port: Port) -> None:
    names = ("ports/1/state", "ports/1/link_layer", "ports/1/rate")
    assert only(hca(told=dict(zip(names, told, strict=True)))).ports == (port,)


def test_ports_are_sorted_by_number() -> None:
    found = hca(told={f"ports/{number}/state": "4: ACTIVE" for number in (10, 2, 1)})
    assert [port.number for port in only(found).ports] == [1, 2, 10]


def test_a_port_that_says_nonsense_is_inactive_and_doubted() -> None:
    found = hca(told={"ports/1/state": "up", "ports/1/rate": "fast"})
    assert only(found).ports == (Port(1, active=False, link_layer="", link_gbps=None),)
    assert codes(found) == {FindingCode.FILE_BROKEN}


def test_a_subfunction_lies_where_its_card_does() -> None:
    card, link = function(CARD, vendor="0x15b3", numa_node="1")
    real = f"sys/devices/{CARD}/mlx5_core.sf.4/infiniband/mlx5_4"
    links = link | {f"{HCA}/mlx5_4": real, f"{real}/device": f"sys/devices/{CARD}/mlx5_core.sf.4"}
    found = discover(two_sockets() | card | {f"{real}/node_type": "1: CA"}, links)
    assert (only(found).pci, only(found).numa) == ("0000:3b:00.0", 1)


def test_soft_roce_has_no_function_and_lies_where_its_interface_does() -> None:
    card, link = function(CARD, vendor="0x1af4", numa_node="1")
    links = link | {
        f"{HCA}/rxe0": "sys/devices/virtual/infiniband/rxe0",
        f"{NET}/ens1": f"sys/devices/{CARD}/virtio0/net/ens1",
    }
    files = {
        "sys/devices/virtual/infiniband/rxe0/node_type": "1: CA",
        "sys/devices/virtual/infiniband/rxe0/parent": "ens1",
    }
    one = only(discover(two_sockets() | card | files, links))
    assert (one.pci, one.numa, one.vendor, one.path) == (None, 1, "", ("pci0000:3a", "0000:3a:00.0"))


def test_soft_roce_below_the_card_of_its_interface_has_no_function_either() -> None:
    card, link = function(CARD, vendor="0x15b3", numa_node="1")
    real = f"sys/devices/{CARD}/infiniband/rxe0"
    links = link | {f"{HCA}/rxe0": real, f"{real}/device": f"sys/devices/{CARD}"}
    links |= {f"{NET}/ens1": f"sys/devices/{CARD}/net/ens1"}
    one = only(discover(two_sockets() | card | {f"{real}/parent": "ens1"}, links))
    assert (one.pci, one.numa, one.vendor) == (None, 1, "")


def test_soft_roce_on_a_bond_has_an_unknown_domain() -> None:
    found = discover(two_sockets() | {f"{HCA}/rxe0/node_type": "1: CA", f"{HCA}/rxe0/parent": "bond0"})
    assert (only(found).pci, only(found).numa) == (None, None)
    assert codes(found) == {FindingCode.NUMA_UNKNOWN}


def test_the_operator_may_tell_domain_and_fault() -> None:
    facts = {FACTS: "hca rxe0 numa 1\nhca rxe0 fault loses packets"}
    found = discover(two_sockets() | {f"{HCA}/rxe0/node_type": "1: CA"} | facts)
    assert (only(found).numa, only(found).fault) == (1, "loses packets")
    assert codes(found) == {FindingCode.DEVICE_FAULT}

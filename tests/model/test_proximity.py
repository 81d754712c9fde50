"""How far two devices are apart, from their bridge paths, their domains and their links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import BridgePath, Gpu, Hca, NvLink
from numaplace.model.ids import HcaName, NumaId, PackageId, PciAddress
from numaplace.model.proximity import Level, level_between, pci_level
from numaplace.model.topology import Numa, NumaKind, Package, Topology

ROOT, PORT, UP = "pci0000:3a", "0000:3a:00.0", "0000:3b:00.0"
DOWN, OTHER_DOWN = "0000:3c:00.0", "0000:3c:01.0"


@pytest.mark.parametrize(
    ("a", "b", "level"),
    [
        pytest.param((ROOT, PORT), (ROOT, PORT), Level.PIX, id="one bus"),
        pytest.param((ROOT, PORT, UP, DOWN), (ROOT, PORT, UP, OTHER_DOWN), Level.PIX, id="two ports of one switch"),
        pytest.param((ROOT, PORT, UP, DOWN), (ROOT, PORT, UP, DOWN), Level.PIX, id="one port of a switch"),
        pytest.param(
            (ROOT, PORT, UP, DOWN, "0000:40:00.0", "0000:41:00.0"),
            (ROOT, PORT, UP, OTHER_DOWN, "0000:50:00.0", "0000:51:00.0"),
            Level.PXB,
            id="two switches below one",
        ),
        pytest.param(
            (ROOT, PORT, UP, DOWN),
            (ROOT, PORT, UP, OTHER_DOWN, "0000:50:00.0", "0000:51:00.0"),
            Level.PXB,
            id="one deeper",
        ),
        pytest.param((ROOT, PORT), (ROOT, "0000:3a:01.0"), Level.PHB, id="two root ports"),
        pytest.param((ROOT, PORT, UP, DOWN), (ROOT, "0000:3a:01.0"), Level.PHB, id="a switch and a root port"),
        pytest.param((ROOT,), (ROOT,), Level.PHB, id="both on the root bus"),
        pytest.param((ROOT, PORT), ("pci0000:5d", "0000:5d:00.0"), None, id="two host bridges"),
        pytest.param((), (ROOT, PORT), None, id="an unknown path"),
        pytest.param((), (), None, id="two unknown paths"),
    ],
)
def test_bridge_paths_prove_a_level_or_nothing(a: BridgePath, b: BridgePath, level: Level | None) -> None:
    assert pci_level(a, b) is level
    assert pci_level(b, a) is level


PATHS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=5).map(tuple)


@given(PATHS, PATHS)
def test_the_level_of_two_paths_does_not_depend_on_their_order(a: BridgePath, b: BridgePath) -> None:
    assert pci_level(a, b) == pci_level(b, a)


def machine(*links: NvLink) -> Topology:
    """Two packages of two domains each."""
    numas = tuple(Numa(NumaId(id), NumaKind.CPU, CpuSet.of([id]), memory_bytes=1) for id in range(4))
    packages = tuple(Package(PackageId(id), CpuSet.of([2 * id, 2 * id + 1])) for id in range(2))
    return Topology(online=CpuSet.parse("0-3"), numas=numas, packages=packages, nvlinks=links)


def gpu(address: str, numa: int | None, path: BridgePath = ()) -> Gpu:
    return Gpu(PciAddress(address), None if numa is None else NumaId(numa), "10de", path=path)


@pytest.mark.parametrize(
    ("a", "b", "level"),
    [(0, 0, Level.NODE), (0, 1, Level.SOCKET), (0, 2, Level.SYS), (None, 0, Level.SYS), (None, None, Level.SYS)],
)
def test_without_a_common_host_bridge_the_domains_decide(a: int | None, b: int | None, level: Level) -> None:
    hca = Hca(HcaName("mlx5_0"), pci=None, numa=None if b is None else NumaId(b))
    assert level_between(machine(), gpu("0000:3b:00.0", a), hca) is level
    assert level_between(machine(), hca, gpu("0000:3b:00.0", a)) is level


def test_a_bridge_path_beats_domains_and_a_link_beats_both() -> None:
    a, b = gpu("0000:3b:00.0", 0, (ROOT, PORT)), gpu("0000:3b:00.1", 2, (ROOT, PORT))
    assert level_between(machine(), a, b) is Level.PIX
    linked = machine(NvLink(a.pci, b.pci, 18))
    assert level_between(linked, a, b) is Level.NV
    assert level_between(linked, b, a) is Level.NV


def test_levels_are_ordered_by_cost() -> None:
    assert sorted(Level) == [Level.NV, Level.PIX, Level.PXB, Level.PHB, Level.NODE, Level.SOCKET, Level.SYS]

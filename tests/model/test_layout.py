"""A machine as the placer counts it: who is placeable, where devices count, what belongs together."""

from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import Gpu, NvLink
from numaplace.model.ids import NumaId, PackageId, PciAddress
from numaplace.model.layout import UNKNOWN, AlignLevel, homed, layout_of
from numaplace.model.topology import Numa, NumaKind, Package, Topology
from numaplace.wire.machine import machine

CPUS = CpuSet.parse


def numa(id: int, cpus: str, kind: NumaKind = NumaKind.CPU, **distances: int) -> Numa:
    far = {NumaId(int(other[1:])): distance for other, distance in distances.items()}
    return Numa(NumaId(id), kind, CPUS(cpus), 2**30, distances=far)


def gpu(bus: str, home: int | None, path: tuple[str, ...] = (), *, mig: bool = False) -> Gpu:
    return Gpu(PciAddress(f"0000:{bus}:00.0"), None if home is None else NumaId(home), "10de", path=path, mig=mig)


def topology(*numas: Numa, gpus: tuple[Gpu, ...] = (), nvlinks: tuple[NvLink, ...] = ()) -> Topology:
    online = CPUS(",".join(str(one.cpus) for one in numas))
    packages = (Package(PackageId(0), online),)
    return Topology(online=online, numas=numas, packages=packages, gpus=gpus, nvlinks=nvlinks)


def test_numas_without_usable_cpus_are_not_placeable() -> None:
    memory = numa(1, "", NumaKind.MEMORY)
    assert layout_of(topology(numa(0, "0-3"), memory, numa(2, "4-7"))).numas == (0, 2)
    assert layout_of(topology(numa(0, "0-3"), numa(2, "4-7")), reserved=CPUS("4-7")).numas == (0,)


def test_a_cpu_in_two_numas_counts_to_the_lower() -> None:
    layout = layout_of(topology(numa(0, "0-5"), numa(1, "4-7")))
    assert [str(CpuSet(bits)) for bits in layout.cpus] == ["0-5", "6-7"]


def test_a_device_counts_to_the_nearest_numa_that_is_placeable() -> None:
    numas = (numa(0, "0-3", n2=32), numa(1, "4-7", n2=12), numa(2, "", NumaKind.DEVICE_MEMORY, n0=32, n1=12))
    layout = layout_of(topology(*numas, gpus=(gpu("01", 2), gpu("02", 0), gpu("03", None), gpu("04", 9))))
    assert layout.gpu_home == (1, 0, UNKNOWN, UNKNOWN)
    assert homed(layout.gpu_home, (1,)) == 0b0001


def test_on_one_numa_there_is_no_unknown() -> None:
    assert layout_of(topology(numa(0, "0-3"), gpus=(gpu("01", None),))).gpu_home == (0,)


def test_groups_are_gpus_below_one_switch_or_joined_by_nvlink() -> None:
    switch = ("pci0000:00", "0000:00:01.0", "0000:01:00.0")
    below = tuple(gpu(f"0{i}", 0, (*switch, f"0000:02:0{i}.0")) for i in (3, 4))
    alone = gpu("05", 0, ("pci0000:00", "0000:00:02.0"))
    link = NvLink(below[1].pci, alone.pci, 4)
    assert layout_of(topology(numa(0, "0-3"), gpus=(*below, alone))).groups == (0b011,)
    assert layout_of(topology(numa(0, "0-3"), gpus=(*below, alone), nvlinks=(link,))).groups == (0b011, 0b110)


def test_cards_in_mig_mode_are_not_whole() -> None:
    assert layout_of(topology(numa(0, "0-3"), gpus=(gpu("01", 0), gpu("02", 0, mig=True)))).whole_gpus == 0b01


def test_packages_are_the_units_where_the_node_aligns_to_them() -> None:
    nps4 = machine("2pkg 8numa 64cpu 8gpu pix")
    assert len(layout_of(nps4).units) == 8
    by_package = layout_of(nps4, align=AlignLevel.PACKAGE)
    assert by_package.units == (0b00001111, 0b11110000)
    assert by_package.unit_distance[0][1] == min(by_package.distance[i][j] for i in range(4) for j in range(4, 8))


def test_equal_machines_share_one_layout_whatever_their_devices_are_called() -> None:
    one = topology(numa(0, "0-3"), gpus=(gpu("01", 0), gpu("02", 0)))
    other = topology(numa(0, "0-3"), gpus=(gpu("a1", 0), gpu("c2", 0)))
    assert layout_of(one) is layout_of(other)

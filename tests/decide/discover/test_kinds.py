"""Fast and slow cores in one machine, by whichever source tells them apart."""

import pytest

from numaplace.decide.discover.sources import CPU
from tests.decide.discover.kernel import Files, discover, two_sockets


def kinds(files: Files) -> list[tuple[str, str]]:
    return [(kind.name, str(kind.cpus)) for kind in discover(two_sockets() | files).topology.core_kinds]


def of_cpus(name: str, values: list[str]) -> Files:
    return {f"{CPU}/cpu{cpu}/{name}": value for cpu, value in enumerate(values)}


def midr(*parts: int) -> Files:
    return of_cpus(
        "regs/identification/midr_el1", [f"0x00000000410f{part:03x}{cpu % 2}" for cpu, part in enumerate(parts)]
    )


def capacity(*values: int) -> Files:
    return of_cpus("cpu_capacity", [str(value) for value in values])


def test_intel_names_its_kinds() -> None:
    files = {
        "sys/devices/cpu_core/cpus": "0-3",
        "sys/devices/cpu_atom/cpus": "4-6",
        "sys/devices/cpu_lowpower/cpus": "7",
    }
    assert kinds(files) == [("cpu_core", "0-3"), ("cpu_atom", "4-6"), ("cpu_lowpower", "7")]


def test_arm_cores_differ_by_part_and_are_ordered_by_capacity() -> None:
    files = midr(0xD80, 0xD80, 0xD80, 0xD80, 0xD85, 0xD85, 0xD85, 0xD85) | capacity(*[700] * 4, *[1024] * 4)
    assert kinds(files) == [("arm-0xd85", "4-7"), ("arm-0xd80", "0-3")]


def test_revisions_of_one_part_are_one_kind() -> None:
    assert kinds(midr(*[0xD85] * 8)) == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1024] * 4 + [446] * 4, [("capacity-1024", "0-3"), ("capacity-446", "4-7")]),
        (
            [250] * 3 + [700] * 3 + [1024] * 2,
            [("capacity-1024", "6-7"), ("capacity-700", "3-5"), ("capacity-250", "0-2")],
        ),
        ([1024, 1017, 997, 1000, 1024, 1010, 980, 960], []),  # equal cores that boost differently
        ([1024] * 8, []),
    ],
)
def test_a_gap_in_capacity_begins_a_kind(values: list[int], expected: list[tuple[str, str]]) -> None:
    assert kinds(capacity(*values)) == expected


def test_offline_cpus_and_overlaps_are_left_out() -> None:
    files = {f"{CPU}/online": "0-5", "sys/devices/cpu_core/cpus": "0-3", "sys/devices/cpu_atom/cpus": "3-7"}
    assert kinds(files) == [("cpu_core", "0-3"), ("cpu_atom", "4-5")]


def test_one_kind_alone_is_none() -> None:
    assert kinds({"sys/devices/cpu_core/cpus": "0-7"}) == []

"""Last-level caches: what is shared, and what guests invent."""

from numaplace.decide.discover import Discovery
from numaplace.decide.discover.sources import CPU
from numaplace.model.finding import FindingCode
from tests.decide.discover.kernel import codes, discover, two_sockets, without


def llcs(found: Discovery) -> list[tuple[int, str, int | None]]:
    return [(llc.level, str(llc.cpus), llc.size_bytes) for llc in found.topology.llcs]


def cache(cpu: int, index: int, level: int, shared: str, kind: str = "Unified") -> dict[str, str]:
    folder = f"{CPU}/cpu{cpu}/cache/index{index}"
    return {f"{folder}/level": str(level), f"{folder}/type": kind, f"{folder}/shared_cpu_list": shared}


def test_the_last_level_is_the_highest_there_is() -> None:
    files = two_sockets() | cache(0, 2, 2, "0-1") | cache(0, 0, 1, "0-1", "Data")
    assert llcs(discover(files)) == [(3, "0-3", 8 << 20), (3, "4-7", 8 << 20)]


def test_a_level_4_cache_beats_level_3() -> None:
    files = two_sockets()
    for cpu in range(8):
        files |= cache(cpu, 4, 4, "0-7")
    found = discover(files)
    assert llcs(found) == [(4, "0-7", None)]
    assert codes(found) == {FindingCode.LLC_CROSSES}  # it spans both packages


def test_where_level_3_is_hidden_level_2_is_the_last() -> None:
    files = without(two_sockets(), "cache")
    for cpu in range(8):
        files |= cache(cpu, 2, 2, f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}")
    assert [cpus for _, cpus, _ in llcs(discover(files))] == ["0-1", "2-3", "4-5", "6-7"]


def test_cores_of_one_cpu_may_end_at_different_levels() -> None:
    files = without(two_sockets(), "cpu6/cache", "cpu7/cache") | cache(6, 2, 2, "6-7") | cache(7, 2, 2, "6-7")
    files |= {f"{CPU}/cpu{cpu}/cache/index3/shared_cpu_list": "4-5" for cpu in (4, 5)}
    assert [(level, cpus) for level, cpus, _ in llcs(discover(files))] == [(3, "0-3"), (3, "4-5"), (2, "6-7")]


def test_level_1_and_instruction_caches_are_no_last_level() -> None:
    files = without(two_sockets(), "cache") | cache(0, 0, 1, "0-1", "Data") | cache(0, 1, 2, "0-1", "Instruction")
    assert llcs(discover(files)) == []


def test_a_mask_serves_where_there_is_no_list() -> None:
    files = without(two_sockets(), "shared_cpu_list")
    files |= {f"{CPU}/cpu{cpu}/cache/index3/shared_cpu_map": "0f" if cpu < 4 else "f0" for cpu in range(8)}
    assert [cpus for _, cpus, _ in llcs(discover(files))] == ["0-3", "4-7"]


def test_a_cache_may_span_numa_domains_without_a_doubt() -> None:
    files = two_sockets()
    for cpu in range(8):
        files[f"{CPU}/cpu{cpu}/topology/package_cpus_list"] = "0-7"
        files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "0"
        files[f"{CPU}/cpu{cpu}/cache/index3/shared_cpu_list"] = "0-7"
    found = discover(files)
    assert [cpus for _, cpus, _ in llcs(found)] == ["0-7"]
    assert found.findings == ()


def test_a_size_that_is_none_is_doubted_and_unknown() -> None:
    found = discover(two_sockets() | {f"{CPU}/cpu0/cache/index3/size": "large"})
    assert llcs(found)[0] == (3, "0-3", None)
    assert codes(found) == {FindingCode.FILE_BROKEN}

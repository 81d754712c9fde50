"""Which CPUs of one numa: whole cores, few caches, kinds of cores apart."""

import pytest

from numaplace.decide.place.cpus import take_cpus
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NumaId
from numaplace.model.layout import layout_of
from numaplace.model.request import CpuRule
from numaplace.model.topology import CoreKind, Llc, Numa, NumaKind, Topology

FULL, SPREAD = CpuRule.FULL_CORES, CpuRule.SPREAD
CPUS = CpuSet.parse


def one_numa(cores: str, llcs: str = "", kinds: tuple[tuple[str, str], ...] = ()) -> Topology:
    """A machine of one numa; `cores` and `llcs` separated by blanks."""
    sets = tuple(CPUS(core) for core in cores.split())
    online = CPUS(",".join(cores.split()))
    return Topology(
        online=online,
        numas=(Numa(NumaId(0), NumaKind.CPU, online, 2**30),),
        cores=sets,
        llcs=tuple(Llc(3, CPUS(llc)) for llc in llcs.split()),
        core_kinds=tuple(CoreKind(name, CPUS(cpus)) for name, cpus in kinds),
    )


SMT = one_numa("0,4 1,5 2,6 3,7")  # four cores of two threads
CCX = one_numa("0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15", "0-3,8-11 4-7,12-15")  # two caches of four cores
HYBRID = one_numa("0-1 2-3 4 5 6 7", kinds=(("cpu_core", "0-3"), ("cpu_atom", "4-7")))


@pytest.mark.parametrize(
    ("machine", "free", "count", "rule", "taken"),
    [
        (SMT, "0-7", 2, FULL, "0,4"),
        (SMT, "0-7", 3, FULL, "0-1,4"),  # a half core only for the odd rest
        (SMT, "1-7", 3, FULL, "1,4-5"),  # and of a core that is broken already
        (SMT, "1-3,5-7", 4, FULL, "1-2,5-6"),
        (SMT, "0,1,2,3,7", 3, FULL, "0,3,7"),  # no second whole core is left
        (SMT, "0-7", 2, SPREAD, "0-1"),
        (SMT, "0-7", 6, SPREAD, "0-5"),  # second threads when every core has given one
        (CCX, "0-15", 4, FULL, "0-1,8-9"),
        (CCX, "1-15", 8, FULL, "4-7,12-15"),  # one cache that has it all before two
        (CCX, "3-7,11-15", 2, FULL, "3,11"),  # the cache that is left fullest
        (CCX, "2-7,10-15", 10, FULL, "2,4-7,10,12-15"),  # the roomiest first where one is not enough
        (HYBRID, "0-7", 4, FULL, "0-3"),
        (HYBRID, "2-7", 4, FULL, "4-7"),  # kinds are not mixed where one suffices
        (HYBRID, "0-7", 6, FULL, "0-5"),
    ],
)
def test_cpus_are_taken(machine: Topology, free: str, count: int, rule: CpuRule, taken: str) -> None:
    assert str(CpuSet(take_cpus(layout_of(machine), CPUS(free).bits, count, rule))) == taken

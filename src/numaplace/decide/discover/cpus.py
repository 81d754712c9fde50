"""CPUs: which are online, and how they make up cores, dies and packages.

Sets of CPUs are believed before numbers: firmware repeats, forgets and invents
numbers. docs/sources.md#cpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from numaplace.decide.discover.cpuinfo import parse_cpuinfo
from numaplace.decide.discover.partition import groups_by, groups_of, id_of, names_of
from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import BOOK, CPU, CPUINFO, DIE, NODE, PACKAGE, SIBLINGS
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.finding import FindingCode
from numaplace.model.ids import PackageId
from numaplace.model.topology import Die, Package

MAX_CPUS = 8192  # the largest NR_CPUS of Linux
MAX_ID = 2**31 - 2  # above it is -1 that was printed without its sign
UNTOLD_PACKAGES = frozenset({255, 65_535})  # all bits of a byte or of two: firmware that did not know


@dataclass(frozen=True, slots=True)
class Processors:
    """The CPUs of a machine and their partitions, each by lowest CPU."""

    online: CpuSet
    packages: tuple[Package, ...]
    dies: tuple[Die, ...]
    cores: tuple[CpuSet, ...]


def assemble_cpus(reading: Reading) -> Processors:
    """Find the online CPUs and group them; packages are sorted by id."""
    info = parse_cpuinfo(reading.text(CPUINFO) or "")
    online = _online(reading, CpuSet.of(info))
    packages = _packages(reading, online, {cpu: one.package for cpu, one in info.items()})
    home = {cpu: package.id for package in packages for cpu in package.cpus}
    return Processors(
        online=online,
        packages=tuple(sorted(packages, key=lambda one: one.id)),
        dies=tuple(_dies(reading, online, packages)),
        cores=tuple(_cores(reading, online, home, {cpu: one.core for cpu, one in info.items()})),
    )


def _online(reading: Reading, in_cpuinfo: CpuSet) -> CpuSet:
    """The online CPUs by the best source there is; notes those that are present but offline."""
    folders = reading.cpu_folders
    told = _plausible(reading, f"{CPU}/online")
    if told:
        online = told
    elif folders:
        online = _switched_on(reading, folders)
    else:
        online = in_cpuinfo or _named_anywhere(reading)
    online = CpuSet.of(islice(online, MAX_CPUS))
    offline = (_plausible(reading, f"{CPU}/present") or folders) - online
    if offline and online:
        reading.doubt(FindingCode.CPU_OFFLINE, CPU, f"CPUs {offline} are present but not online")
    return online


def _switched_on(reading: Reading, folders: CpuSet) -> CpuSet:
    """The CPUs that are not switched off: by their own file, else by a topology folder, which goes with the CPU."""
    switches = {cpu: reading.number(f"{CPU}/cpu{cpu}/online") for cpu in folders}
    with_topology = CpuSet.of(cpu for cpu in folders if reading.tree.names(f"{CPU}/cpu{cpu}/topology"))
    # CPU 0 has no switch on most x86.
    silent = CpuSet.of(cpu for cpu, switch in switches.items() if switch is None)
    on = CpuSet.of(cpu for cpu, switch in switches.items() if switch not in (None, 0))
    return on | (silent & with_topology if with_topology else silent)


def _plausible(reading: Reading, path: str) -> CpuSet | None:
    cpus = reading.listed(path)
    if cpus is None or len(cpus) <= MAX_CPUS:
        return cpus
    reading.doubt(FindingCode.FILE_BROKEN, path, f"lists {len(cpus)} CPUs, more than any kernel has ({MAX_CPUS})")
    return None


def _named_anywhere(reading: Reading) -> CpuSet:
    named = _plausible(reading, f"{CPU}/present") or _plausible(reading, f"{CPU}/possible")
    if named:
        return named
    nodes = (f"{NODE}/node{node}" for node in reading.numbered(NODE, "node"))
    return union(reading.cpus(node, ("cpulist", "cpumap")) or CpuSet() for node in nodes)


def _told(reading: Reading, online: CpuSet, names: tuple[str, ...]) -> dict[int, CpuSet]:
    """What each online CPU says under `names`, cut to the online CPUs; a set without the CPU itself is no answer."""
    told = {}
    for cpu in online & reading.cpu_folders:
        cpus = reading.cpus(f"{CPU}/cpu{cpu}/topology", names)
        if cpus is not None and cpu in cpus:
            told[cpu] = cpus & online
        elif cpus is not None:
            where = f"{CPU}/cpu{cpu}/topology"
            reading.doubt(FindingCode.SIBLINGS_ODD, where, f"{names[0]} of CPU {cpu} is {cpus}, without the CPU itself")
    return told


def _grouped(reading: Reading, told: Mapping[int, CpuSet], what: str) -> list[CpuSet]:
    groups, odd = groups_of(told)
    if odd:
        reading.doubt(FindingCode.SIBLINGS_ODD, CPU, f"CPUs {odd} contradict other CPUs about who is in their {what}")
    return groups


def _packages(reading: Reading, online: CpuSet, in_cpuinfo: Mapping[int, int | None]) -> list[Package]:
    told_ids = _numbers(reading, online, "physical_package_id") or {
        cpu: package for cpu, package in in_cpuinfo.items() if package is not None and cpu in online
    }
    ids = {cpu: id for cpu, id in told_ids.items() if id not in UNTOLD_PACKAGES}
    told = _told(reading, online, PACKAGE)
    if len(told) > 1 and all(len(cpus) == 1 for cpus in told.values()) and not ids:
        told = {}  # kernels without a package number list each CPU alone
    groups = _grouped(reading, told, "package")
    silent = online - union(groups)
    groups += groups_by({cpu: ids[cpu] for cpu in silent if cpu in ids})
    groups = _one_for_each_id(reading, groups, ids)
    homeless = online - union(groups)
    if homeless:
        reading.doubt(FindingCode.PACKAGE_UNKNOWN, CPU, f"nothing tells the package of CPUs {homeless}: taken as one")
        groups.append(homeless)
    return [Package(PackageId(name), group) for name, group in zip(names_of(groups, ids), groups, strict=True)]


def _one_for_each_id(reading: Reading, groups: Iterable[CpuSet], ids: Mapping[int, int]) -> list[CpuSet]:
    """The groups, those with one package number joined: Linux 3.10 cut packages at NUMA domains (Cluster-on-Die)."""
    joined: dict[object, CpuSet] = {}
    for group in groups:
        folder = f"{CPU}/cpu{group.first()}/topology"
        id = id_of(group, ids)
        key = group if id is None else (reading.cpus(folder, BOOK), id)
        if key in joined:
            text = f"CPUs {joined[key]} and {group} are of package {id} but do not list each other"
            reading.doubt(FindingCode.SIBLINGS_ODD, folder, text)
        joined[key] = joined.get(key, CpuSet()) | group
    return list(joined.values())


def _dies(reading: Reading, online: CpuSet, packages: Iterable[Package]) -> list[Die]:
    """The dies, where a die number is told; a die never spans packages."""
    ids = _numbers(reading, online, "die_id")
    told = _told(reading, online, DIE)
    dies = []
    for package in packages:
        mine = {cpu: told[cpu] & package.cpus for cpu in package.cpus if cpu in ids and cpu in told}
        groups = _grouped(reading, mine, "die")
        silent = package.cpus - union(groups)
        groups += groups_by({cpu: ids[cpu] for cpu in silent if cpu in ids})
        dies += [Die(name, package.id, group) for name, group in zip(names_of(groups, ids), groups, strict=True)]
    return sorted(dies, key=lambda die: (die.package, die.id))


def _cores(
    reading: Reading, online: CpuSet, home: Mapping[int, PackageId], in_cpuinfo: Mapping[int, int | None]
) -> list[CpuSet]:
    told = _told(reading, online, SIBLINGS)
    groups = _grouped(reading, told, "core")
    silent = online - union(groups)
    ids = _numbers(reading, silent, "core_id")
    ids = ids or {cpu: core for cpu in silent if (core := in_cpuinfo.get(cpu)) is not None}
    # A CPU of which nobody tells the core is a core of its own.
    groups += groups_by({cpu: (home[cpu], ids[cpu]) if cpu in ids else cpu for cpu in silent})
    return sorted(groups, key=CpuSet.first)


def _numbers(reading: Reading, online: CpuSet, name: str) -> dict[int, int]:
    """The number under `topology/` for each CPU that has one; one below 0 or absurd is not told."""
    numbers = {}
    for cpu in online & reading.cpu_folders:
        number = reading.number(f"{CPU}/cpu{cpu}/topology/{name}")
        if number is not None and 0 <= number <= MAX_ID:
            numbers[cpu] = number
    return numbers

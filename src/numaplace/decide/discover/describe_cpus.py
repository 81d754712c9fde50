"""The files of /sys/devices/system/cpu of a described machine.

Only what discovery reads is written. Paths and formats: docs/sources.md.
"""

from collections.abc import Iterable, Iterator

from numaplace.decide.discover.sources import CPU, HYBRID
from numaplace.model.cpuset import CpuSet
from numaplace.model.topology import Llc, Topology


def cpu_files(machine: Topology, *, offline: CpuSet) -> dict[str, str]:
    """Every CPU's place in cores, dies, packages and caches, path to text."""
    present = str(machine.online | offline)
    files = {f"{CPU}/{name}": f"{present}\n" for name in ("possible", "present")}
    files[f"{CPU}/online"] = f"{machine.online}\n"
    files |= {f"{CPU}/cpu{cpu}/online": "0\n" for cpu in offline}
    for part in (_core_files, _package_files, _die_files, _cache_files, _kind_files):
        files |= part(machine)
    return files


def _core_files(machine: Topology) -> dict[str, str]:
    files = {}
    for core_id, siblings in enumerate(machine.cores):
        for topology in _topology_folders(siblings):
            files[f"{topology}/core_id"] = f"{core_id}\n"
            files[f"{topology}/core_cpus_list"] = f"{siblings}\n"
    return files


def _package_files(machine: Topology) -> dict[str, str]:
    files = {}
    for package in machine.packages:
        cpus = f"{package.cpus}\n"
        for topology in _topology_folders(package.cpus):
            files[f"{topology}/physical_package_id"] = f"{package.id}\n"
            files[f"{topology}/package_cpus_list"] = cpus
    return files


def _die_files(machine: Topology) -> dict[str, str]:
    files = {}
    for die in machine.dies:
        cpus = f"{die.cpus}\n"
        for topology in _topology_folders(die.cpus):
            files[f"{topology}/die_id"] = f"{die.id}\n"
            files[f"{topology}/die_cpus_list"] = cpus
    return files


def _cache_files(machine: Topology) -> dict[str, str]:
    return {path: text for llc in machine.llcs for path, text in _llc_files(llc)}


def _llc_files(llc: Llc) -> Iterator[tuple[str, str]]:
    shared = f"{llc.cpus}\n"
    for cpu in llc.cpus:
        folder = f"{CPU}/cpu{cpu}/cache/index{llc.level}"
        yield f"{folder}/level", f"{llc.level}\n"
        yield f"{folder}/type", "Unified\n"
        yield f"{folder}/shared_cpu_list", shared
        if llc.size_bytes is not None:
            yield f"{folder}/size", f"{llc.size_bytes // 1024}K\n"


def _kind_files(machine: Topology) -> dict[str, str]:
    """Kinds of cores as Intel's PMUs tell them, or Arm: by part number, and by capacity, of which 1024 is the most."""
    files = {}
    for rank, kind in enumerate(machine.core_kinds):
        if kind.name in HYBRID:
            files[f"sys/devices/{kind.name}/cpus"] = f"{kind.cpus}\n"
            continue
        maker, _, number = kind.name.partition("-")
        for cpu in kind.cpus:
            files[f"{CPU}/cpu{cpu}/cpu_capacity"] = f"{number if maker == 'capacity' else 1024 >> rank}\n"
            if maker == "arm":
                files[f"{CPU}/cpu{cpu}/regs/identification/midr_el1"] = f"{int(number, 16) << 4:#x}\n"
    return files


def _topology_folders(cpus: Iterable[int]) -> Iterator[str]:
    return (f"{CPU}/cpu{cpu}/topology" for cpu in cpus)

"""The YAML form of a described machine: facts, on top of another machine or of nothing.

Here they become one Description; domains and distances are read in `machine_domains`,
devices in `machine_devices`.
"""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from numaplace.decide.discover.describe import Description
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.errors import InputError
from numaplace.model.ids import NumaId, PackageId
from numaplace.model.topology import CoreKind, Die, Llc, Numa, NumaKind, Package, Topology
from numaplace.wire.machine_devices import described_devices
from numaplace.wire.machine_domains import described_domains, parse_cpus
from numaplace.wire.machine_schema import MachineFields
from numaplace.wire.strict import convert, shown

LLC_BYTES = 32 << 20

Part = TypeVar("Part", Package, Die, Llc, CoreKind)

_PATH = re.compile(r"(?:sys|proc|etc/numaplace)(?:/[A-Za-z0-9_.:@,+-]{1,100}){1,20}")
_NOTHING = Topology(online=CpuSet(), numas=())


def parse_mapping(thing: object, like: Callable[[str, str], Description], where: str) -> Description:
    """Read a mapping of facts; `like` reads the machine they start from. InputError names the field."""
    fields = convert(thing, MachineFields, where)
    base = Description(_NOTHING) if fields.like is None else like(fields.like, f"{where}: like")
    numas, packages = described_domains(fields, base.claimed, where)
    if fields.like is None:
        machine = _new_machine(numas, packages, fields.smt, where)
    else:
        machine = replace(base.claimed, online=base.claimed.online | _cpus_of(numas), numas=numas)
    machine = described_devices(fields, _overridden(fields, machine, where), where)
    offline = parse_cpus(fields.offline, f"{where}: offline")
    if not offline.issubset(machine.online):
        raise InputError(f"{where}: offline", found=str(offline), wanted=f"CPUs of this machine, {machine.online}")
    files = {_path(path, f"{where}: files"): text for path, text in fields.files.items()}
    return Description(_kinds_told(_without(machine, offline)), base.offline | offline, {**base.files, **files})


def _path(text: str, where: str) -> str:
    path = text.strip("/")
    if _PATH.fullmatch(path) is None or {".", ".."} & set(path.split("/")):
        raise InputError(where, found=shown(text), wanted="a path of a file below sys, proc or etc/numaplace")
    return path


def _new_machine(numas: tuple[Numa, ...], packages: dict[NumaId, PackageId | None], smt: int, where: str) -> Topology:
    """Processors from the CPUs of the domains alone: one last-level cache a domain, siblings half a domain apart."""
    if not 1 <= smt <= 8:
        raise InputError(f"{where}: smt", found=str(smt), wanted="1..8 threads a core")
    members: dict[PackageId, CpuSet] = {}
    for numa in numas:
        package = packages[numa.id]
        if package is not None:
            members[package] = members.get(package, CpuSet()) | numa.cpus
    return Topology(
        online=_cpus_of(numas),
        numas=numas,
        packages=tuple(Package(package, members[package]) for package in sorted(members)),
        cores=_by_first(core for numa in numas for core in _cores_in(numa.cpus, smt, where)),
        llcs=tuple(Llc(3, cpus, LLC_BYTES) for cpus in _by_first(numa.cpus for numa in numas if numa.cpus)),
    )


def _cores_in(cpus: CpuSet, smt: int, where: str) -> Sequence[CpuSet]:
    numbers = list(cpus)
    if len(numbers) % smt:
        raise InputError(f"{where}: smt", found=f"{smt} for the {len(numbers)} CPUs {cpus}", wanted="a divisor")
    count = len(numbers) // smt
    return [CpuSet.of(numbers[core::count]) for core in range(count)]


def _overridden(fields: MachineFields, machine: Topology, where: str) -> Topology:
    """The machine with the cores and caches that are given outright."""
    if fields.cores is not None:
        machine = replace(machine, cores=_sets(fields.cores, machine, f"{where}: cores"))
    if fields.llcs is not None:
        llcs = _sets(fields.llcs, machine, f"{where}: llcs")
        machine = replace(machine, llcs=tuple(Llc(3, cpus, LLC_BYTES) for cpus in llcs))
    return machine


def _sets(texts: Sequence[str], machine: Topology, where: str) -> tuple[CpuSet, ...]:
    """CPU lists that share no CPU, by lowest CPU."""
    sets = [parse_cpus(text, where) for text in texts]
    whole = union(sets)
    if not all(sets) or len(whole) != sum(map(len, sets)) or not whole.issubset(machine.online):
        wanted = f"lists without a CPU in common, out of {machine.online}"
        raise InputError(where, found=", ".join(map(repr, texts))[:80], wanted=wanted)
    return _by_first(sets)


def _by_first(sets: Iterable[CpuSet]) -> tuple[CpuSet, ...]:
    return tuple(sorted(sets, key=CpuSet.first))


def _cpus_of(numas: Iterable[Numa]) -> CpuSet:
    return union(numa.cpus for numa in numas)


def _without(machine: Topology, offline: CpuSet) -> Topology:
    """The machine as the kernel shows it while these CPUs are offline: nothing lists them."""
    if not offline:
        return machine

    def cut(parts: Iterable[Part]) -> tuple[Part, ...]:
        left = [replace(part, cpus=part.cpus - offline) for part in parts]
        return tuple(part for part in left if part.cpus)

    return replace(
        machine,
        online=machine.online - offline,
        numas=tuple(replace(numa, cpus=numa.cpus - offline) for numa in machine.numas),
        packages=cut(machine.packages),
        dies=cut(machine.dies),
        llcs=cut(machine.llcs),
        core_kinds=cut(machine.core_kinds),
        cores=tuple(core - offline for core in machine.cores if core - offline),
    )


def _kinds_told(machine: Topology) -> Topology:
    """The machine with the kind of each domain as its CPUs, its memory and the GPUs make it."""
    cards = {gpu.memory_numa for gpu in machine.gpus}
    return replace(machine, numas=tuple(replace(numa, kind=_kind(numa, cards)) for numa in machine.numas))


def _kind(numa: Numa, cards: Container[NumaId | None]) -> NumaKind:
    has_memory = numa.memory_bytes != 0
    if numa.cpus:
        return NumaKind.CPU if has_memory else NumaKind.CPU_WITHOUT_MEMORY
    if numa.id in cards:
        return NumaKind.DEVICE_MEMORY
    return NumaKind.MEMORY if has_memory else NumaKind.INITIATOR

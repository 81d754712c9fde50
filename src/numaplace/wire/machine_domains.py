"""The NUMA domains of a described machine in YAML: CPUs, memory, hugepages, distances."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from numaplace.decide.discover.describe_shape import distances_between
from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import InputError, located
from numaplace.model.ids import NumaId, PackageId
from numaplace.model.topology import LOCAL_DISTANCE, HugepagePool, Numa, NumaKind, Topology
from numaplace.wire.machine_line import parse_size
from numaplace.wire.machine_schema import DistanceFields, MachineFields, NumaFields

MAX_CPUS, MAX_DOMAINS, MAX_DISTANCE = 8192, 1024, 255  # what kernels and the ACPI SLIT can number

Packages = dict[NumaId, PackageId | None]  # None: a domain without CPUs belongs to none
Distances = Mapping[NumaId, Mapping[NumaId, int]]


def described_domains(fields: MachineFields, base: Topology, where: str) -> tuple[tuple[Numa, ...], Packages]:
    """The domains of `base`, changed and added to, by rising id; and the package of each."""
    numas = {numa.id: numa for numa in base.numas}
    packages: Packages = {numa.id: base.package_of_numa(numa.id) for numa in base.numas}
    named: set[NumaId] = set()
    for at, numa in enumerate(fields.numas):
        place = f"{where}: numas[{at}]"
        for id in _ids_alone(numa, place):
            if id in named:
                raise InputError(f"{place}.id", found=f"{id} twice", wanted="each domain once")
            named.add(id)
            numas[id] = _domain(numas.get(id, Numa(id, NumaKind.CPU, CpuSet(), memory_bytes=0)), numa, place)
            packages[id] = _package(numas[id], numa, packages, place, is_new=fields.like is None)
    if not any(numa.cpus for numa in numas.values()):
        raise InputError(f"{where}: numas", found="no CPU", wanted="cpus in at least one domain, or like: MACHINE")
    ordered = {id: packages[id] for id in sorted(numas)}
    distances = _distances(fields.distances, base, ordered, where)
    return tuple(replace(numas[id], distances=distances[id]) for id in ordered), ordered


def parse_cpus(value: int | str, where: str) -> CpuSet:
    """A list of CPUs such as 0-3,8; a lone number may come without quotes."""
    with located(where):
        cpus = CpuSet.parse(str(value))
    if cpus and cpus.bits.bit_length() > MAX_CPUS:
        raise InputError(where, found=str(value)[:60], wanted=f"CPU numbers below {MAX_CPUS}")
    return cpus


def parse_ids(value: int | str, where: str) -> tuple[NumaId, ...]:
    """The field `id` of a domain: a number, or a range of domains that are alike."""
    ids = parse_cpus(value, where)
    if not ids or ids.bits.bit_length() > MAX_DOMAINS:
        raise InputError(where, found=str(value)[:60], wanted=f"a number below {MAX_DOMAINS}, or a range")
    return tuple(map(NumaId, ids))


def _ids_alone(numa: NumaFields, where: str) -> tuple[NumaId, ...]:
    ids = parse_ids(numa.id, f"{where}.id")
    if len(ids) > 1 and numa.cpus:
        raise InputError(f"{where}.cpus", found=str(numa.cpus)[:60], wanted="no CPUs where id is a range")
    return ids


def _domain(numa: Numa, fields: NumaFields, where: str) -> Numa:
    cpus = numa.cpus if fields.cpus is None else parse_cpus(fields.cpus, f"{where}.cpus")
    memory = numa.memory_bytes or 0
    if fields.memory is not None:
        memory = parse_size(fields.memory, f"{where}.memory")
    pages = numa.hugepages if fields.hugepages is None else _pools(fields.hugepages, f"{where}.hugepages")
    held = sum(pool.page_bytes * pool.total for pool in pages)
    if held > memory:
        raise InputError(f"{where}.hugepages", found=f"{held} bytes", wanted=f"at most the memory, {memory} bytes")
    return replace(numa, cpus=cpus, memory_bytes=memory, free_bytes=memory - held, hugepages=pages)


def _pools(pages: Mapping[str, int], where: str) -> tuple[HugepagePool, ...]:
    pools = [HugepagePool(parse_size(size, where), count, count) for size, count in pages.items()]
    if any(pool.total < 0 or pool.page_bytes == 0 for pool in pools):
        raise InputError(where, found=str(dict(pages))[:60], wanted="a size and how many pages, like 2MiB: 1024")
    return tuple(sorted(pools, key=lambda pool: pool.page_bytes))


def _package(numa: Numa, fields: NumaFields, packages: Packages, where: str, *, is_new: bool) -> PackageId | None:
    if fields.package is not None and not is_new:
        raise InputError(f"{where}.package", found=str(fields.package), wanted="no package beside like: MACHINE")
    if fields.package is not None and not 0 <= fields.package < MAX_DOMAINS:
        raise InputError(f"{where}.package", found=str(fields.package), wanted=f"0..{MAX_DOMAINS - 1}")
    if not numa.cpus:
        return None
    return PackageId(fields.package or 0) if is_new else packages.get(numa.id)


def _distances(
    fields: DistanceFields | Sequence[Sequence[int]] | None, base: Topology, packages: Packages, where: str
) -> Distances:
    place = f"{where}: distances"
    if fields is None and packages.keys() == {numa.id for numa in base.numas}:
        return {numa.id: numa.distances for numa in base.numas}
    if fields is None or isinstance(fields, DistanceFields):
        return _by_kind(fields or DistanceFields(), packages, place)
    return _by_matrix(fields, packages, place)


def _by_kind(fields: DistanceFields, packages: Packages, where: str) -> Distances:
    to_memory = fields.other_package if fields.to_memory is None else fields.to_memory
    _check_distances((fields.same_package, fields.other_package, to_memory), where)
    whole = distances_between(packages, near=fields.same_package, far=fields.other_package)

    def one(a: NumaId, b: NumaId) -> int:
        lone = a != b and (packages[a] is None or packages[b] is None)
        return to_memory if lone else whole[a][b]

    return {a: MappingProxyType({b: one(a, b) for b in packages}) for a in packages}


def _by_matrix(rows: Sequence[Sequence[int]], packages: Packages, where: str) -> Distances:
    if not rows:  # the firmware tells none
        return {id: MappingProxyType({}) for id in packages}
    if len(rows) != len(packages) or any(len(row) != len(packages) for row in rows):
        count = len(packages)
        raise InputError(where, found=f"{len(rows)} rows", wanted=f"{count} rows of {count} numbers, or none at all")
    _check_distances([distance for row in rows for distance in row], where)
    return {a: MappingProxyType(dict(zip(packages, row, strict=True))) for a, row in zip(packages, rows, strict=True)}


def _check_distances(distances: Sequence[int], where: str) -> None:
    for distance in distances:
        if not 0 <= distance <= MAX_DISTANCE:
            wanted = f"0..{MAX_DISTANCE}; {LOCAL_DISTANCE} is local"
            raise InputError(where, found=str(distance)[:20], wanted=wanted)

"""Shape: a regular machine in a dozen numbers, as the one-line form gives them.

Parts are shared out evenly and CPUs are numbered as servers do it. What is not
even belongs into the YAML form, which starts from a shape and changes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from numaplace.decide.discover.describe_cards import ACTIVE_PORT, Card, GpuCard, HcaCard, HostBridge, Rdma, Switch
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.devices import Port
from numaplace.model.errors import InputError
from numaplace.model.ids import NumaId, PackageId
from numaplace.model.proximity import Level
from numaplace.model.topology import LOCAL_DISTANCE, CoreKind, HugepagePool, Llc, Numa, NumaKind, Package, Topology

T = TypeVar("T")

CPUS_A_NUMA = 24
BYTES_A_CPU = 8 << 30


class Numbering(StrEnum):
    """How the kernel numbers SMT siblings and packages."""

    SIBLINGS_LAST = "siblings-last"  # cores 0..n-1 domain by domain, then their siblings: most servers
    PAIRED = "paired"  # siblings beside each other: many virtual machines, POWER
    ALTERNATING = "alternating"  # CPU 0 in domain 0, CPU 1 in domain 1, …: some two-socket Intel servers


@dataclass(frozen=True, slots=True)
class Shape:
    """A regular machine; None = as the other numbers make it."""

    packages: int = 1
    numas: int | None = None
    cpus: int | None = None
    threads: int | None = None  # SMT threads a core
    numbering: Numbering = Numbering.SIBLINGS_LAST
    p_cores: int = 0  # of a hybrid CPU: two threads each
    e_cores: int = 0  # of a hybrid CPU: one thread each
    llcs_a_numa: int = 1  # in a package, where a domain spans several
    memory_bytes: int | None = None
    hugepages: tuple[HugepagePool, ...] = ()  # in each domain
    near: int = 12  # SLIT inside a package
    far: int = 21  # SLIT between packages
    gpus: int = 0
    hcas: int = 0
    level: Level = Level.NODE  # from each GPU to its HCA
    gpu: GpuCard = GpuCard()
    port: Port = ACTIVE_PORT
    links: int = 0  # NVLinks between every two GPUs
    numa_told: bool = True  # False: every device says -1


def processors_of(shape: Shape) -> Topology:
    """The domains, packages, cores and caches of a shape; no devices yet.

    InputError when something cannot be shared out evenly.
    """
    cores = _hybrid_cores(shape) if shape.p_cores or shape.e_cores else _even_cores(shape)
    numa_cpus = _share(cores, _numas_of(shape), "numas")
    package_cpus = _share(cores, shape.packages, "packages")
    if shape.llcs_a_numa > len(cores) // max(len(numa_cpus), shape.packages):
        raise InputError("llc", found=str(shape.llcs_a_numa), wanted="at most one for each core of a numa")
    packages = tuple(Package(PackageId(i), cpus) for i, cpus in enumerate(package_cpus))
    # No cache spans packages, also where a domain does.
    chips = numa_cpus if len(numa_cpus) >= len(package_cpus) else package_cpus
    llcs = [Llc(3, cpus, 32 << 20) for chip in chips for cpus in _llcs_in(chip, cores, shape.llcs_a_numa)]
    return Topology(
        online=union(cores),
        numas=tuple(_domains(shape, numa_cpus, packages)),
        packages=packages,
        cores=tuple(sorted(cores, key=CpuSet.first)),
        llcs=tuple(sorted(llcs, key=lambda llc: llc.cpus.first())),
        core_kinds=_core_kinds(shape),
    )


def distances_between(
    package_of: Mapping[NumaId, PackageId | None], *, near: int, far: int
) -> Mapping[NumaId, Mapping[NumaId, int]]:
    """A SLIT with two values: inside a package, and between packages (or without one)."""

    def one(a: NumaId, b: NumaId) -> int:
        if a == b:
            return LOCAL_DISTANCE
        return near if package_of[a] is not None and package_of[a] == package_of[b] else far

    return {a: MappingProxyType({b: one(a, b) for b in package_of}) for a in package_of}


def bridges_of(shape: Shape, numas: Sequence[NumaId]) -> list[HostBridge]:
    """The host bridges with GPUs and HCAs, shared out over `numas` and joined at the shape's level."""
    gpus, hcas = _deal(shape.gpus, len(numas)), _deal(shape.hcas, len(numas))
    bridges = []
    for numa, gpu_count, hca_count in zip(numas, gpus, hcas, strict=True):
        groups = _joined(
            [shape.gpu] * gpu_count, [HcaCard(devices=(Rdma(ports=(shape.port,)),))] * hca_count, shape.level
        )
        bridges += [HostBridge(numa if shape.numa_told else None, below) for below in groups]
    return bridges


def _joined(gpus: Sequence[Card], hcas: Sequence[Card], level: Level) -> list[tuple[Card | Switch, ...]]:
    """What hangs below each host bridge, so that every GPU has an HCA at `level` if there are any."""
    if level is Level.NODE:
        return [(card,) for card in (*gpus, *hcas)]
    count = min(len(gpus), len(hcas)) or -(-len(gpus or hcas) // 2)
    groups = list(zip(_chunks(gpus, count), _chunks(hcas, count), strict=True))
    if level is Level.PIX:
        return [(Switch((*some, *others)),) for some, others in groups]
    if level is Level.PXB:
        return [(Switch(tuple(Switch(tuple(part)) for part in group if part)),) for group in groups]
    return [(*some, *others) for some, others in groups]  # PHB


def _numas_of(shape: Shape) -> int:
    return shape.numas if shape.numas is not None else shape.packages


def _even_cores(shape: Shape) -> list[CpuSet]:
    """The cores, domain by domain."""
    numas = _numas_of(shape)
    cpus = shape.cpus if shape.cpus is not None else CPUS_A_NUMA * numas
    threads = shape.threads or (2 if cpus % (2 * numas) == 0 else 1)
    if cpus % (threads * numas) or not cpus:
        raise InputError(
            "cpu",
            found=f"{cpus} CPUs",
            wanted=f"a multiple of {threads * numas} (smt{threads}, {numas} numas)",
        )
    count, in_numa = cpus // threads, cpus // threads // numas
    cores = []
    for core in range(count):
        numa, position = divmod(core, in_numa)
        first = position * numas + numa if shape.numbering is Numbering.ALTERNATING else core
        paired = shape.numbering is Numbering.PAIRED
        cores.append(CpuSet.of(core * threads + t if paired else first + t * count for t in range(threads)))
    return cores


def _hybrid_cores(shape: Shape) -> list[CpuSet]:
    """Fast cores with two threads first, then slow ones with one, as Intel hybrids number them."""
    pairs = [CpuSet.of((2 * core, 2 * core + 1)) for core in range(shape.p_cores)]
    return [*pairs, *(CpuSet.of((2 * shape.p_cores + core,)) for core in range(shape.e_cores))]


def _core_kinds(shape: Shape) -> tuple[CoreKind, ...]:
    cores = _hybrid_cores(shape)
    if not (shape.p_cores and shape.e_cores):
        return ()
    return (
        CoreKind("cpu_core", union(cores[: shape.p_cores])),
        CoreKind("cpu_atom", union(cores[shape.p_cores :])),
    )


def _domains(shape: Shape, numa_cpus: Sequence[CpuSet], packages: Sequence[Package]) -> Iterable[Numa]:
    package_of: dict[NumaId, PackageId | None] = {}
    for i, cpus in enumerate(numa_cpus):
        package_of[NumaId(i)] = next((p.id for p in packages if cpus.first() in p.cpus), None)
    distances = distances_between(package_of, near=shape.near, far=shape.far)
    total = shape.memory_bytes if shape.memory_bytes is not None else BYTES_A_CPU * sum(map(len, numa_cpus))
    memory = total // len(numa_cpus) // 4096 * 4096
    held = sum(pool.page_bytes * pool.total for pool in shape.hugepages)
    if held > memory:
        raise InputError("hugepages", found=f"{held} bytes in a numa", wanted=f"at most its memory, {memory} bytes")
    for id, cpus in zip(package_of, numa_cpus, strict=True):
        kind = NumaKind.CPU if memory else NumaKind.CPU_WITHOUT_MEMORY
        yield Numa(id, kind, cpus, memory, memory - held, distances[id], shape.hugepages)


def _llcs_in(numa: CpuSet, cores: Sequence[CpuSet], count: int) -> list[CpuSet]:
    return [union(chunk) for chunk in _chunks([core for core in cores if core.issubset(numa)], count)]


def _share(cores: Sequence[CpuSet], parts: int, word: str) -> list[CpuSet]:
    if parts > len(cores) or len(cores) % parts:
        raise InputError(word, found=f"{parts} for {len(cores)} cores", wanted="a number that shares the cores evenly")
    return [union(chunk) for chunk in _chunks(cores, parts)]


def _deal(things: int, places: int) -> list[int]:
    """How many things each place gets; what does not go round is spread out."""
    at = [thing * places // things for thing in range(things)]
    return [at.count(place) for place in range(places)]


def _chunks(things: Sequence[T], count: int) -> list[Sequence[T]]:
    return [things[i * len(things) // count : (i + 1) * len(things) // count] for i in range(count)]

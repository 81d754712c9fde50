"""Machines for the oracle's tests, described by a few numbers; hypothesis draws the same description.

A `Site` says where a device hangs: numa, host bridge, and the PCIe switch below it (None: its own root
port, "" no path known). Addresses rise with the position in the list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from numaplace.model.cpuset import CpuSet, union
from numaplace.model.devices import Gpu, Hca, NvLink
from numaplace.model.ids import GpuUuid, HcaName, NumaId, PackageId, PciAddress
from numaplace.model.topology import CoreKind, HugepagePool, Llc, Numa, NumaKind, Package, Topology

GIB = 2**30
PAGE = GIB  # hugepages of 1 GiB, so that the numbers stay small


@dataclass(frozen=True)
class Site:
    """Where one device hangs and in what state it is."""

    numa: int | None = 0
    bridge: int | None = None  # host bridge; None: that of its numa; -1: nobody knows the path
    switch: tuple[int, ...] = ()  # nested PCIe switches below it; () = a root port of its own
    fault: bool = False
    mig: bool = False


@dataclass(frozen=True)
class NumaShape:
    """One numa: its cores and memory."""

    cores: int = 4
    package: int = 0
    memory_gib: int | None = 8
    free_gib: int | None = None
    pages: int = 0
    pages_free: int | None = None
    caches: int = 1  # last-level caches its cores are dealt to
    half_cores: int = 0  # how many of its cores have one thread only


@dataclass(frozen=True)
class Shape:
    """One machine."""

    numas: Sequence[NumaShape] = (NumaShape(),)
    threads: int = 2
    siblings_apart: bool = False  # Linux numbers the second threads after all first ones, or next to them
    gpus: Sequence[Site] = ()
    hcas: Sequence[Site] = ()
    nvlinks: Sequence[tuple[int, int]] = ()
    distances: Mapping[tuple[int, int], int] = field(default_factory=dict)
    hybrid: bool = False  # the single-threaded cores are of another kind


def topology_of(shape: Shape) -> Topology:
    """The machine of a description."""
    cores = _cores(shape)
    numas = tuple(_numa(shape, index, union(own)) for index, own in enumerate(cores))
    gpus = tuple(
        Gpu(
            PciAddress(f"0000:{0x10 + i:02x}:00.0"),
            None if site.numa is None else NumaId(site.numa),
            "10de",
            GpuUuid(f"GPU-{i}"),
            path=_path(site, f"g{i}"),
            mig=site.mig,
            fault="lost" if site.fault else "",
        )
        for i, site in enumerate(shape.gpus)
    )
    hcas = tuple(
        Hca(
            HcaName(f"mlx5_{i}"),
            PciAddress(f"0000:{0x80 + i:02x}:00.0"),
            None if site.numa is None else NumaId(site.numa),
            path=_path(site, f"h{i}"),
            fault="no port" if site.fault else "",
        )
        for i, site in enumerate(shape.hcas)
    )
    flat = [core for own in cores for core in own]
    return Topology(
        online=union(flat),
        numas=numas,
        packages=tuple(
            Package(PackageId(id), union(n.cpus for n, s in zip(numas, shape.numas, strict=True) if s.package == id))
            for id in sorted({s.package for s in shape.numas})
        ),
        cores=tuple(sorted(flat, key=lambda core: core.first())),
        llcs=tuple(sorted(_caches(shape, cores), key=lambda llc: llc.cpus.first())),
        core_kinds=_kinds(flat) if shape.hybrid else (),
        gpus=gpus,
        hcas=tuple(sorted(hcas, key=lambda hca: hca.name)),
        nvlinks=tuple(NvLink(gpus[a].pci, gpus[b].pci, 1) for a, b in sorted(set(shape.nvlinks)) if a < b),
    )


def _cores(shape: Shape) -> list[list[CpuSet]]:
    """The CPUs of each core of each numa."""
    ids = count()
    total = sum(numa.cores for numa in shape.numas)
    cores = []
    for numa in shape.numas:
        own = []
        for i in range(numa.cores):
            threads = 1 if i >= numa.cores - numa.half_cores else shape.threads
            first = next(ids)
            more = range(1, threads)
            rest = [first + total * t for t in more] if shape.siblings_apart else [next(ids) for _ in more]
            own.append(CpuSet.of([first, *rest]))
        cores.append(own)
    return cores


def _numa(shape: Shape, index: int, cpus: CpuSet) -> Numa:
    numa = shape.numas[index]
    kind = NumaKind.MEMORY if not cpus else NumaKind.CPU
    pool = HugepagePool(PAGE, numa.pages, numa.pages if numa.pages_free is None else min(numa.pages, numa.pages_free))
    return Numa(
        NumaId(index),
        kind,
        cpus,
        None if numa.memory_gib is None else numa.memory_gib * GIB,
        None if numa.free_gib is None else numa.free_gib * GIB,
        {NumaId(b): distance for (a, b), distance in shape.distances.items() if a == index},
        (pool,) if numa.pages else (),
    )


def _caches(shape: Shape, cores: list[list[CpuSet]]) -> list[Llc]:
    return [
        Llc(3, union(own[i :: numa.caches]))
        for numa, own in zip(shape.numas, cores, strict=True)
        for i in range(min(numa.caches, len(own)))
    ]


def _kinds(cores: Sequence[CpuSet]) -> tuple[CoreKind, ...]:
    fast = union(core for core in cores if len(core) > 1)
    slow = union(core for core in cores if len(core) == 1)
    return (CoreKind("cpu_core", fast), CoreKind("cpu_atom", slow)) if fast and slow else ()


def _path(site: Site, name: str) -> tuple[str, ...]:
    """Host bridge, root port, then two bridges a switch; the last one leads to the device alone."""
    bridge = (site.numa or 0) if site.bridge is None else site.bridge
    if bridge < 0:
        return ()
    root = f"pci0000:{bridge:02x}"
    if not site.switch:
        return (root, f"{root}-{name}")
    path = [root, f"{root}-root{site.switch[0]}"]
    for depth in range(len(site.switch)):
        where = ".".join(map(str, site.switch[: depth + 1]))
        if depth:
            path.append(f"{root}-down{where}")
        path.append(f"{root}-up{where}")
    return (*path, f"{root}-down-{name}")

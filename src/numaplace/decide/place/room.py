"""Room: what one node has left, counted from its book.

Derived from a NodeState each time its book changes; the search, the refusals and
the many-node index read nothing else of a node.
"""

from dataclasses import dataclass, replace

from numaplace.model.cluster import Holder, NodeState
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.layout import Layout, joined
from numaplace.model.request import CpuMode, Policy
from numaplace.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Room:
    """Free parts of one node; tuples run over the placeable numas, masks as in Layout."""

    layout: Layout
    cpus: tuple[int, ...]  # bits of usable CPUs that nobody owns
    confined_milli: tuple[int, ...]
    gpus: int  # free, healthy, whole
    faulty_gpus: int  # free and whole, but unhealthy
    hcas: int  # no holder, healthy
    faulty_hcas: int
    healthy_hcas: int  # whoever holds them: what shared mode may use
    single: int  # mask of units with this mark
    wide: int
    memory: tuple[int, ...]  # bytes
    pages: tuple[tuple[int, ...], ...]  # by page size as in Layout.pages, then by numa
    gives: tuple[int, ...]  # exclusive CPUs that each numa can give: those that its confined Pods do not need
    pool_milli: int  # what new CPUs of any kind may take together, by the node-level rule
    pool_cpus: int  # exclusive CPUs that leave the pool its last core

    def whole_core_cpus(self, numa: int) -> int:
        """CPUs in free whole cores of a numa; a core that other Pods or the reserve touch is not whole."""
        free = self.cpus[numa]
        return sum(core.bit_count() for core in self.layout.cores if core & free == core)

    def marks_of(self, numa: int) -> tuple[str, ...]:
        """The marks of the unit that this numa is in: `single`, `wide`."""
        unit = self.layout.units_of(1 << numa)
        return tuple(name for name, mask in (("single", self.single), ("wide", self.wide)) if mask & unit)


def room_of(node: NodeState) -> Room:
    """Count what `node` has left; it must have a topology."""
    topology, layout = node.topology, node.layout
    if topology is None or layout is None:
        raise BrokenPromiseError(f"node {node.name} was counted before its topology was known")
    books = [_book(topology, layout, holder) for holder in node.holders.values()]
    owned = joined(book.cpus for book in books)
    confined = tuple(sum(book.confined_milli[i] for book in books) for i in range(len(layout.numas)))
    healthy_gpus = layout.whole_gpus & sum(1 << i for i, gpu in enumerate(topology.gpus) if not gpu.fault)
    healthy_hcas = sum(1 << i for i, hca in enumerate(topology.hcas) if not hca.fault)
    free_gpus = layout.whole_gpus & ~joined(book.gpus for book in books)
    unnamed = sum(book.unnamed_gpus for book in books)
    held_hcas = joined(book.hcas for book in books)
    usable = layout.usable_cpus
    shared = sum(confined) + sum(book.floating_milli for book in books)
    pool_milli = 1000 * (usable - owned.bit_count()) - shared
    told = node.rules.allocatable
    if told is not None and told.cpu_milli:
        pool_milli = min(pool_milli, told.cpu_milli - 1000 * owned.bit_count() - shared)
    cpus = tuple(bits & ~owned for bits in layout.cpus)
    return Room(
        layout=layout,
        cpus=cpus,
        confined_milli=confined,
        gpus=_without_lowest(free_gpus & healthy_gpus, unnamed),
        faulty_gpus=free_gpus & ~healthy_gpus,
        hcas=healthy_hcas & ~held_hcas,
        faulty_hcas=~healthy_hcas & ~held_hcas & ((1 << len(topology.hcas)) - 1),
        healthy_hcas=healthy_hcas,
        single=joined(book.marks for book in books if book.marks.bit_count() == 1),
        wide=joined(book.marks for book in books if book.marks.bit_count() > 1),
        memory=_free_memory(topology, layout, books),
        pages=_free_pages(topology, layout, books),
        gives=tuple(max(0, c.bit_count() + -milli // 1000) for c, milli in zip(cpus, confined, strict=True)),
        pool_milli=pool_milli,
        pool_cpus=usable + layout.reserved.bit_count() - owned.bit_count() - layout.threads,
    )


def empty_room(layout: Layout) -> Room:
    """The node when it is empty and healthy, as policy Restricted judges widths."""
    usable = layout.usable_cpus
    all_hcas = (1 << len(layout.hca_home)) - 1
    return Room(
        layout=layout,
        cpus=layout.cpus,
        confined_milli=(0,) * len(layout.numas),
        gpus=layout.whole_gpus,
        faulty_gpus=0,
        hcas=all_hcas,
        faulty_hcas=0,
        healthy_hcas=all_hcas,
        single=0,
        wide=0,
        memory=layout.memory,
        pages=tuple(counts for _, counts in layout.pages),
        gives=tuple(bits.bit_count() for bits in layout.cpus),
        pool_milli=1000 * usable,
        pool_cpus=usable + layout.reserved.bit_count() - layout.threads,
    )


def without_marks(room: Room) -> Room:
    """The same room as if no Pod minded company."""
    return replace(room, single=0, wide=0)


def with_faulty_devices(room: Room) -> Room:
    """The same room as if its faulty devices were healthy."""
    return replace(
        room,
        gpus=room.gpus | room.faulty_gpus,
        hcas=room.hcas | room.faulty_hcas,
        healthy_hcas=room.healthy_hcas | room.faulty_hcas,
    )


@dataclass(frozen=True, slots=True)
class _Book:
    """What one holder takes."""

    cpus: int
    confined_milli: tuple[int, ...]
    floating_milli: int
    gpus: int
    unnamed_gpus: int
    hcas: int
    marks: int  # units, none where the Pod does not count for exclusivity
    memory: tuple[int, ...]
    pages: tuple[tuple[int, ...], ...]


def _book(topology: Topology, layout: Layout, holder: Holder) -> _Book:
    request, allocation = holder.request, holder.allocation
    none = (0,) * len(layout.numas)
    if allocation is None:
        return _Book(
            cpus=0,
            confined_milli=none,
            floating_milli=request.shared_cpu_milli + 1000 * request.cpus,
            gpus=0,
            unnamed_gpus=request.gpus,
            hcas=0,
            marks=0,
            memory=none,
            pages=(none,) * len(layout.pages),
        )
    pcis = {gpu.pci for gpu in allocation.gpus}
    names = {hca.name for hca in allocation.hcas} if request.hcas_exclusive else set()
    gpus = sum(1 << i for i, gpu in enumerate(topology.gpus) if gpu.pci in pcis)
    charges = {charge.numa: charge for charge in allocation.charges}
    cpus = allocation.cpus.bits
    confined = tuple(charges[id].shared_cpu_milli if id in charges else 0 for id in layout.numas)
    pages = tuple(
        tuple(
            sum(h.pages for h in charges[id].hugepages if h.page_bytes == size) if id in charges else 0
            for id in layout.numas
        )
        for size, _ in layout.pages
    )
    return _Book(
        cpus=cpus,
        confined_milli=confined,
        floating_milli=max(0, request.shared_cpu_milli - sum(confined)),
        gpus=gpus,
        unnamed_gpus=0,
        hcas=sum(1 << i for i, hca in enumerate(topology.hcas) if hca.name in names),
        marks=_marks(layout, holder, cpus, gpus),
        memory=tuple(charges[id].memory_bytes if id in charges else 0 for id in layout.numas),
        pages=pages,
    )


def _marks(layout: Layout, holder: Holder, cpus: int, gpus: int) -> int:
    """The units a Pod marks: those of its allocation, or of its GPUs where it has no annotation."""
    request, allocation = holder.request, holder.allocation
    if allocation is None or not (request.policy is not Policy.NONE or cpus or gpus):
        return 0
    if request.policy is Policy.NONE and request.cpu_mode is CpuMode.FLOATING:
        homes = {home for i, home in enumerate(layout.gpu_home) if gpus >> i & 1 and home >= 0}
        return layout.units_of(sum(1 << home for home in homes))
    return layout.units_of(layout.mask(allocation.numas))


def _free_memory(topology: Topology, layout: Layout, books: list[_Book]) -> tuple[int, ...]:
    told = [topology.numa(id).free_bytes for id in layout.numas]
    booked = [total - sum(book.memory[i] for book in books) for i, total in enumerate(layout.memory)]
    return tuple(max(0, left if free is None else min(left, free)) for left, free in zip(booked, told, strict=True))


def _free_pages(topology: Topology, layout: Layout, books: list[_Book]) -> tuple[tuple[int, ...], ...]:
    pools = [{pool.page_bytes: pool.free for pool in topology.numa(id).hugepages} for id in layout.numas]
    return tuple(
        tuple(
            max(0, min(pools[i].get(size, 0), total - sum(book.pages[s][i] for book in books)))
            for i, total in enumerate(totals)
        )
        for s, (size, totals) in enumerate(layout.pages)
    )


def _without_lowest(mask: int, count: int) -> int:
    for _ in range(count):
        mask &= mask - 1
    return mask

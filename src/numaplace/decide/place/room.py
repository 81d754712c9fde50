"""Room: what one node has left, counted from its book.

Derived from a NodeState each time its book changes; the search, the refusals and
the many-node index read nothing else of a node.
"""

from dataclasses import dataclass, replace

from numaplace.decide.place.books import Books
from numaplace.model.cluster import NodeState
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.layout import Layout, homed
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

    def free_in(self, numas: tuple[int, ...]) -> tuple[int, int, int]:
        """GPUs, HCAs and exclusive CPUs that these numas can give together."""
        gpus, hcas = (homed(home, numas) for home in (self.layout.gpu_home, self.layout.hca_home))
        return (self.gpus & gpus).bit_count(), (self.hcas & hcas).bit_count(), sum(self.gives[n] for n in numas)

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
    books = Books(topology, layout)
    for holder in node.holders.values():
        books.add(holder)
    healthy_gpus = layout.whole_gpus & sum(1 << i for i, gpu in enumerate(topology.gpus) if not gpu.fault)
    healthy_hcas = sum(1 << i for i, hca in enumerate(topology.hcas) if not hca.fault)
    free_gpus = layout.whole_gpus & ~books.gpus
    owned = books.cpus.bit_count()
    shared = sum(books.confined_milli) + books.floating_milli
    pool_milli = 1000 * (layout.usable_cpus - owned) - shared
    told = node.rules.allocatable
    if told is not None and told.cpu_milli:
        pool_milli = min(pool_milli, told.cpu_milli - 1000 * owned - shared)
    cpus = tuple(bits & ~books.cpus for bits in layout.cpus)
    return Room(
        layout=layout,
        cpus=cpus,
        confined_milli=tuple(books.confined_milli),
        gpus=_without_lowest(free_gpus & healthy_gpus, books.unnamed_gpus),
        faulty_gpus=free_gpus & ~healthy_gpus,
        hcas=healthy_hcas & ~books.hcas,
        faulty_hcas=~healthy_hcas & ~books.hcas & ((1 << len(topology.hcas)) - 1),
        healthy_hcas=healthy_hcas,
        single=books.single,
        wide=books.wide,
        memory=_free_memory(topology, layout, books),
        pages=_free_pages(topology, layout, books),
        gives=tuple(max(0, c.bit_count() + -m // 1000) for c, m in zip(cpus, books.confined_milli, strict=True)),
        pool_milli=pool_milli,
        pool_cpus=layout.usable_cpus + layout.reserved.bit_count() - owned - layout.threads,
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


def _free_memory(topology: Topology, layout: Layout, books: Books) -> tuple[int, ...]:
    told = (topology.numa(id).free_bytes for id in layout.numas)
    booked = (total - held for total, held in zip(layout.memory, books.memory, strict=True))
    return tuple(max(0, left if free is None else min(left, free)) for left, free in zip(booked, told, strict=True))


def _free_pages(topology: Topology, layout: Layout, books: Books) -> tuple[tuple[int, ...], ...]:
    pools = [{pool.page_bytes: pool.free for pool in topology.numa(id).hugepages} for id in layout.numas]
    return tuple(
        tuple(max(0, min(pools[i].get(size, 0), total - books.pages[size][i])) for i, total in enumerate(totals))
        for size, totals in layout.pages
    )


def _without_lowest(mask: int, count: int) -> int:
    for _ in range(count):
        mask &= mask - 1
    return mask

"""The machine as a tree, like lstopo in a terminal: packages, NUMA domains, caches, devices."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from numaplace.decide.discover import Discovery
from numaplace.model.devices import Gpu, Hca
from numaplace.model.finding import Finding
from numaplace.model.ids import NumaId
from numaplace.model.topology import Llc, Numa, NumaKind, Package, Topology
from numaplace.tools.report.words import counted
from numaplace.tools.show import words
from numaplace.tools.show.branches import Branch, draw
from numaplace.tools.show.packages import numas_by_package
from numaplace.tools.show.wiring import Shared, Thing, wiring_of

_OTHERS = {0x01: "storage", 0x02: "network", 0x03: "display"}  # PCI base classes worth a word
_BRIDGE = 0x06


def tree_text(found: Discovery) -> str:
    """The whole machine, and below it what is doubtful about it, a sentence each."""
    lines = draw(Branch(f"Machine: {words.machine_text(found.topology)}", list(_Machine(found.topology).branches())))
    return "\n".join([*lines, *_doubts(found.findings)]) + "\n"


def _doubts(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    places = (f"{finding.code}  {finding.where + ': ' if finding.where else ''}{finding.text}" for finding in findings)
    return ["", f"{counted(len(findings), 'finding')}:", *(f"  {place}" for place in places)]


class _Machine:
    """The branches of one machine; methods give one line with what is below it."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.numbers = {gpu.pci: number for number, gpu in enumerate(topology.gpus)}
        self.caches = list(topology.llcs)  # those not shown yet

    def branches(self) -> Iterator[Branch]:
        """Packages with their domains, then what belongs to no package."""
        packages, left = numas_by_package(self.topology)
        yield from (self.package(package, inside) for package, inside in packages)
        yield from map(self.domain, left)
        yield from map(_cache, self.caches)
        yield from self.bare_domains()
        yield from self.homeless()
        if links := words.links_text(self.topology):
            yield Branch(links)

    def package(self, package: Package, numas: Iterable[Numa]) -> Branch:
        """A package with the domains inside it, and the caches that several of these share."""
        domains = list(map(self.domain, numas))
        shared = [llc for llc in self.caches if llc.cpus.issubset(package.cpus)]
        self.caches = [llc for llc in self.caches if llc not in shared]
        cores = words.cores_text(self.topology, package.cpus)
        return Branch(f"Package {package.id}: {cores or package.cpus}", [*map(_cache, shared), *domains])

    def domain(self, numa: Numa) -> Branch:
        """A domain with CPUs: its memory, distances, caches and devices."""
        inside = [llc for llc in self.caches if llc.cpus.issubset(numa.cpus)]
        self.caches = [llc for llc in self.caches if llc not in inside]
        parts = [f"CPUs {numa.cpus}", words.memory_text(numa)]
        below: list[Branch] = []
        if len(inside) == 1 and inside[0].cpus == numa.cpus:
            parts.append(_cache_name(inside[0]))
        else:
            below += map(_cache, inside)
        if pages := words.pages_text(numa):
            parts.append(f"hugepages {pages}")
        below += self.distances(numa)
        below += self.core_kinds(numa)
        return Branch(f"NUMA {numa.id}: {', '.join(parts)}", [*below, *self.devices(numa.id)])

    def distances(self, numa: Numa) -> list[Branch]:
        """How far the other domains are, nearest first; domains at one distance share a word."""
        others = sorted((distance, id) for id, distance in numa.distances.items() if id != numa.id)
        told = [
            f"{distance} to NUMA {words.ids_text(id for _, id in some)}"
            for distance, some in groupby(others, key=lambda pair: pair[0])
        ]
        return [Branch(f"distance {', '.join(told)}")] if told else []

    def core_kinds(self, numa: Numa) -> list[Branch]:
        """The kinds of cores of a hybrid CPU."""
        kinds = ((kind.name, kind.cpus & numa.cpus) for kind in self.topology.core_kinds)
        return [Branch(f"{name}: {words.cores_text(self.topology, cpus)}, CPUs {cpus}") for name, cpus in kinds if cpus]

    def bare_domains(self) -> Iterator[Branch]:
        """Domains without CPUs; neighbours of which there is nothing to say share a line."""
        bare = [numa for numa in self.topology.numas if not numa.cpus]
        for kind, some in groupby(bare, key=lambda numa: numa.kind):
            if kind is NumaKind.INITIATOR:
                alike = list(some)
                devices = [branch for numa in alike for branch in self.devices(numa.id)]
                yield Branch(f"NUMA {words.ids_text(n.id for n in alike)}: {words.KIND_WORDS[kind]}", devices)
                continue
            for numa in some:
                about = f"{words.memory_text(numa)}, {words.holds_text(self.topology, numa)}"
                yield Branch(f"NUMA {numa.id}: {about}", self.devices(numa.id))

    def homeless(self) -> Iterator[Branch]:
        """Devices whose domain nobody knows."""
        devices = self.devices(None)
        if devices:
            yield Branch("NUMA unknown", devices)

    def devices(self, numa: NumaId | None) -> list[Branch]:
        """GPUs and HCAs of a domain by what they share, and a count of the rest."""
        every: list[Gpu | Hca] = [*self.topology.gpus, *self.topology.hcas]
        cards = [card for card in every if card.numa == numa]
        shown = {card.pci for card in every}
        rest = [p for p in self.topology.pci if p.numa == numa and p.address not in shown]
        kinds = Counter(_OTHERS.get(p.class_code >> 16, "other") for p in rest if p.class_code >> 16 != _BRIDGE)
        branches = [self.thing(thing) for thing in wiring_of(cards)]
        if kinds:
            branches.append(Branch("further PCI: " + ", ".join(f"{kinds[kind]} {kind}" for kind in sorted(kinds))))
        return branches

    def thing(self, thing: Thing) -> Branch:
        """A card, or a bridge with the cards behind it."""
        if isinstance(thing, Shared):
            name = "Host bridge" if thing.is_host_bridge else "PCIe switch"
            return Branch(f"{name} {thing.bridge}", [self.thing(one) for one in thing.below])
        return Branch(self.gpu(thing) if isinstance(thing, Gpu) else _hca(thing))

    def gpu(self, gpu: Gpu) -> str:
        """One GPU."""
        bad = words.health_text(gpu)
        parts = [f"GPU {self.numbers[gpu.pci]}", gpu.pci, words.model_text(gpu)]
        return "  ".join(parts) + (f"  !! {bad}" if bad else "")


def _hca(hca: Hca) -> str:
    bad = words.health_text(hca)
    parts = [f"HCA {hca.name}", hca.pci or "no PCI address", words.ports_text(hca.ports)]
    return "  ".join(parts) + (f"  !! {bad}" if bad else "")


def _cache(llc: Llc) -> Branch:
    return Branch(f"{_cache_name(llc)}: CPUs {llc.cpus}")


def _cache_name(llc: Llc) -> str:
    return f"L{llc.level}" + (f" {words.bytes_text(llc.size_bytes)}" if llc.size_bytes else "")

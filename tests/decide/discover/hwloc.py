"""What hwloc found on a recorded machine, out of its console or XML output.

Only what numaplace claims to know too: which CPUs are in one package, core, cache
and NUMA domain, the memory of a domain, and the domain of a PCI function.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

Cpus = frozenset[int]
NO_CPUS: Cpus = frozenset()  # a cgroup hides them all

_LINE = re.compile(r"(?P<indent> *)(?P<type>\w+)(?:\([^)]*\))? L#\d+(?: \((?P<told>.*?)\))?(?: \(disallowed\))?$")
_CACHE = re.compile(r"L([2-9])Cache")


@dataclass
class Thing:
    """An object of hwloc's tree."""

    type: str
    os_index: int | None = None
    address: str | None = None
    memory_bytes: int | None = None
    children: list["Thing"] = field(default_factory=list)

    def below(self) -> Iterator["Thing"]:
        for child in self.children:
            yield child
            yield from child.below()

    def cpus(self) -> Cpus:
        return frozenset(one.os_index for one in (self, *self.below()) if one.type == "PU" and one.os_index is not None)

    def sets_of(self, kind: str) -> set[Cpus]:
        return {one.cpus() for one in self.below() if one.type == kind} - {NO_CPUS}

    def last_level_caches(self) -> set[Cpus]:
        """The CPUs below each outermost cache above level 1."""
        found = set()
        for child in self.children:
            found |= {child.cpus()} if _CACHE.fullmatch(child.type) else child.last_level_caches()
        return found - {NO_CPUS}

    def numas(self) -> dict[int, Cpus]:
        """The CPUs beside each NUMA domain; memory hangs where it is local."""
        found: dict[int, Cpus] = {}
        for one in (self, *self.below()):
            if one.type != "MemCache":
                found |= dict.fromkeys(_domains_beside(one.children), one.cpus())
        return found

    def memories(self) -> dict[int, int]:
        told = ((one.os_index, one.memory_bytes) for one in self.below() if one.type == "NUMANode")
        return {id: size for id, size in told if id is not None and size is not None}

    def functions(self, above: Cpus | None = None) -> dict[str, Cpus]:
        """The CPUs of the nearest object with CPUs above each PCI function."""
        here = self.cpus() or above or frozenset()
        found = {}
        for child in self.children:
            if child.address is not None:
                found[child.address] = here
            found |= child.functions(here)
        return found


def _domains_beside(children: Iterable[Thing]) -> Iterator[int]:
    for child in children:
        if child.type == "NUMANode" and child.os_index is not None:
            yield child.os_index
        elif child.type == "MemCache":
            yield from _domains_beside(child.children)


def read_hwloc(file: Path) -> Thing:
    """The tree of an output file; what stands on lines of its own below the tree is left out."""
    if file.suffix == ".xml":
        return _of_element(next(ElementTree.parse(file).getroot().iter("object")))
    return _of_console(file.read_text().splitlines())


def _of_element(element: ElementTree.Element) -> Thing:
    index, memory = element.get("os_index"), element.get("local_memory")
    return Thing(
        element.get("type", ""),
        os_index=None if index is None else int(index),
        address=element.get("pci_busid"),
        memory_bytes=None if memory is None else int(memory),
        children=[_of_element(child) for child in element.findall("object")],
    )


def _of_console(lines: list[str]) -> Thing:
    root = Thing("Machine")
    above = [(-1, root)]
    for line in lines[1:]:
        match = _LINE.fullmatch(line)
        if match is None:
            if line.startswith("depth"):
                break
            continue
        told = match["told"] or ""
        index, address = re.search(r"P#(\d+)", told), re.search(r"busid=([0-9a-f:.]+)", told)
        thing = Thing(match["type"], int(index[1]) if index else None, address[1] if address else None)
        while above[-1][0] >= len(match["indent"]):
            above.pop()
        above[-1][1].children.append(thing)
        above.append((len(match["indent"]), thing))
    return root

"""Taking out of a Tree what names one machine or its owner, before it is given away.

UUIDs, MAC addresses, GUIDs, serial numbers and host names become numbers of the same
length and shape, by their order: what was equal stays equal, what was sorted stays sorted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from numaplace.decide.discover.sources import FACTS
from numaplace.decide.discover.tree import Tree

SHORTEST_HOST_NAME = 4  # a shorter one is as likely a word of the file's own

_HEX = "[0-9a-fA-F]"
_NAMING = re.compile(
    rf"(?P<uuid>(?<!{_HEX}){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?!{_HEX}))"
    rf"|(?P<gpu>(?<=GPU-){_HEX}{{16}}(?!{_HEX}))"  # AMD's
    rf"|(?P<mac>(?<![0-9a-fA-F:])(?:{_HEX}{{2}}:){{5,19}}{_HEX}{{2}}(?![0-9a-fA-F:]))"  # 20 bytes on InfiniBand
    rf"|(?P<guid>(?<![0-9a-fA-F:])(?:{_HEX}{{4}}:){{3,7}}{_HEX}{{4}}(?![0-9a-fA-F:]))"  # also a GID, of 8 words
    rf"|(?P<name>(?<=[a-z]x){_HEX}{{12}}(?:{_HEX}{{4}})?(?!{_HEX}))"  # enx and rocex names are made of a MAC or a GUID
    r"|(?P<unique>(?<=^unique_id )[1-9]\d*(?=\s*$))"  # of an AMD card, in KFD's properties
    rf"|(?P<serial>(?:(?<=Serial\t\t: )|(?<=identification = )){_HEX}+)",  # of Arm and s390 CPUs, in cpuinfo
    re.MULTILINE,
)
_FACT_WORDS = frozenset({"gpu", "hca", "pci", "nvlink", "uuid", "model", "memory-numa", "mig", "fault", "numa"})


def anonymised(tree: Tree, host_names: Collection[str] = ()) -> Tree:
    """The tree with every identifier replaced; doing it twice changes nothing more.

    `host_names` are the machine's own; they are looked for where people write: in the
    facts and in the reasons of faults.
    """
    replaced = _Replacements(_texts(tree), host_names)
    return Tree(
        files={
            replaced.inside(path): replaced.inside(content.decode("latin-1"), by_hand=path == FACTS).encode("latin-1")
            for path, content in tree.files.items()
        },
        links={replaced.inside(path): replaced.inside(target) for path, target in tree.links.items()},
        faults={replaced.inside(path): replaced.inside(reason, by_hand=True) for path, reason in tree.faults.items()},
    )


def without_identifiers(texts: Iterable[str]) -> Callable[[str], str]:
    """What replaces every identifier that is in any of these texts, in a text that is one of them or part of one."""
    return _Replacements(texts, ()).inside


def _texts(tree: Tree) -> Iterator[str]:
    """Everything in the tree that may hold an identifier. Any byte is a Latin-1 letter, so none is lost."""
    yield from (content.decode("latin-1") for content in tree.files.values())
    yield from (*tree.files, *tree.links, *tree.links.values(), *tree.faults, *tree.faults.values())


@dataclass(frozen=True, slots=True)
class _Naming:
    kind: str
    text: str


class _Replacements:
    """A number for each identifier that is met, counted within its kind and length."""

    def __init__(self, texts: Iterable[str], host_names: Collection[str]) -> None:
        found = {_Naming(match.lastgroup or "", match[0]) for text in texts for match in _NAMING.finditer(text)}
        self._by_naming = _numbered(found)
        self._hosts = {
            name: f"host{'x' * (len(name) - 4)}"
            for name in host_names
            if len(name) >= SHORTEST_HOST_NAME and name not in _FACT_WORDS
        }

    def inside(self, text: str, *, by_hand: bool = False) -> str:
        """The text with its identifiers replaced, host names too where it was written by hand."""
        text = _NAMING.sub(lambda match: self._by_naming[_Naming(match.lastgroup or "", match[0])], text)
        for name in sorted(self._hosts, key=len, reverse=True) if by_hand else ():
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self._hosts[name], text)
        return text


def _numbered(found: Collection[_Naming]) -> Mapping[_Naming, str]:
    """Each identifier with its hexadecimal digits replaced by those of its number, which begins at 1."""
    last: dict[tuple[str, int], tuple[str, int]] = {}
    numbered = {}
    for naming in sorted(found, key=lambda one: (one.kind, len(one.text), one.text.lower(), one.text)):
        before, number = last.get((naming.kind, len(naming.text)), ("", 0))
        number += naming.text.lower() != before
        last[naming.kind, len(naming.text)] = naming.text.lower(), number
        numbered[naming] = _spread(naming, number)
    return numbered


def _spread(naming: _Naming, number: int) -> str:
    width = sum(letter not in ":-" for letter in naming.text)
    digits = iter(f"{number:0{width}{'d' if naming.kind == 'unique' else 'x'}}"[-width:])
    return "".join(letter if letter in ":-" else next(digits) for letter in naming.text)

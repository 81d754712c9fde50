"""XML of NCCL into plain elements, bounded: no document type, no entities, no depth, no flood.

expat is told to stop at the first declaration that could expand into something else.
"""

from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from numaplace.model.errors import InputError

MAX_CHARACTERS = 16_000_000  # the largest real files have 20 kB
MAX_DEPTH, MAX_ELEMENTS = 64, 20_000


@dataclass(slots=True)
class Element:
    """One XML element; text between elements means nothing in these files."""

    tag: str
    attributes: dict[str, str]
    line: int
    below: list["Element"] = field(default_factory=list)

    def all(self, tag: str) -> list["Element"]:
        """The elements of this tag right below."""
        return [element for element in self.below if element.tag == tag]


def parse_xml(text: str, where: str) -> Element:
    """The root element; InputError names the line of what is broken or refused."""
    if len(text) > MAX_CHARACTERS:
        raise InputError(where, found=f"{len(text)} characters", wanted=f"at most {MAX_CHARACTERS}")
    builder = _Builder(where)
    try:
        builder.parser.Parse(text, True)
    except expat.ExpatError as error:
        wanted = f"XML ({expat.errors.messages.get(error.code, 'broken')})"
        raise InputError(f"{where}, line {error.lineno}", found="broken XML", wanted=wanted) from error
    except ValueError as error:  # text that is no text, such as half a surrogate pair
        raise InputError(where, found=str(error)[:80], wanted="XML text") from error
    return builder.roots[0]


class _Builder:
    def __init__(self, where: str) -> None:
        self.where, self.elements = where, 0
        self.roots: list[Element] = []
        self.open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            self._refuse(f"more than {MAX_ELEMENTS} elements", "a topology of one machine")
        if len(self.open) >= MAX_DEPTH:
            self._refuse(f"more than {MAX_DEPTH} levels", "fewer")
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        (self.open[-1].below if self.open else self.roots).append(element)
        self.open.append(element)

    def _end(self, tag: str) -> None:
        self.open.pop()

    def _doctype(self, *_: object) -> None:
        self._refuse("a document type", "no <!DOCTYPE>: nothing of it is needed and its entities can multiply")

    def _refuse(self, found: str, wanted: str) -> NoReturn:
        raise InputError(f"{self.where}, line {self.parser.CurrentLineNumber}", found=found, wanted=wanted)

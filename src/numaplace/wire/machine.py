"""Described machines: text into a Description, and into the Topology that discovery reads out of it.

A text is the name of a known machine, a line of words, or YAML of facts. Everything
that plans on paper comes here; docs/reference/machine-description.md is the manual.
"""

from functools import lru_cache

from numaplace.decide.discover import Discovery, assemble
from numaplace.decide.discover.describe import Description, tree_of
from numaplace.decide.discover.describe_regular import description_of
from numaplace.model.errors import InputError
from numaplace.model.topology import Topology
from numaplace.wire.machine_facts import parse_mapping
from numaplace.wire.machine_known import KNOWN
from numaplace.wire.machine_line import parse_line
from numaplace.wire.yaml_text import load_documents


def parse_machine(text: str, where: str = "machine") -> Description:
    """Read a described machine; InputError says what is wrong and what would be right."""
    known = KNOWN.get(text.strip())
    text = text if known is None else known.text
    try:
        if "\n" not in text.strip() and ":" not in text:
            return description_of(parse_line(text, where))
        return parse_mapping(_only_document(text, where), parse_machine, where)
    except InputError as error:
        raise error if error.where.startswith(where) else error.inside(where) from None


def _only_document(text: str, where: str) -> object:
    documents = load_documents(text, where)
    if len(documents) != 1:
        raise InputError(where, found=f"{len(documents)} documents", wanted="one mapping that describes a machine")
    return documents[0]


@lru_cache(maxsize=512)
def discovered(text: str) -> Discovery:
    """The topology of a described machine and its findings; equal texts give one object. Errors as `parse_machine`."""
    return assemble(tree_of(parse_machine(text)))


def machine(text: str) -> Topology:
    """The topology of a described machine; equal texts give one object. Errors as `parse_machine`."""
    return discovered(text).topology

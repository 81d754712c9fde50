"""Described machines: text into a Description, and into the Topology that discovery reads out of it.

A text is the name of a known machine, a line of words, or YAML of facts. Everything
that plans on paper comes here; docs/reference/machine-description.md is the manual.
"""

from functools import lru_cache

from numaplace.decide.discover.describe import Description
from numaplace.decide.discover.describe_regular import description_of
from numaplace.model.errors import InputError
from numaplace.model.topology import Topology
from numaplace.wire.machine_known import KNOWN
from numaplace.wire.machine_line import parse_line


def parse_machine(text: str, where: str = "machine") -> Description:
    """Read a described machine; InputError says what is wrong and what would be right."""
    known = KNOWN.get(text.strip())
    if known is not None:
        text = known.text
    try:
        return description_of(parse_line(text, where))
    except InputError as error:
        raise error if error.where.startswith(where) else error.inside(where) from None


@lru_cache(maxsize=512)
def machine(text: str) -> Topology:
    """The topology of a described machine; equal texts give one object. Errors as `parse_machine`."""
    return parse_machine(text).claimed

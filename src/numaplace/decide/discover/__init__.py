"""Discovery: from the files under /sys and /proc to a Topology and its Findings.

`sources` lists what is read, `tree` holds it, `assemble` makes sense of it: one file
for each source of information, joined at the end. Reading the files is the matter of
`adapters/sysfs`.
"""

from numaplace.decide.discover.anonymise import anonymised, without_identifiers
from numaplace.decide.discover.assemble import Discovery, assemble
from numaplace.decide.discover.facts import Facts, facts_text
from numaplace.decide.discover.tree import Tree

__all__ = ["Discovery", "Facts", "Tree", "anonymised", "assemble", "facts_text", "without_identifiers"]

"""Description: a machine that somebody claims, to plan on and to test with.

`wire/machine` reads one from a line, from YAML or from an NCCL file; `tree_of`
writes it down as a kernel would show it. A Topology comes from that tree alone,
through `assemble`, so a described machine and a real one are read alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numaplace.decide.discover.describe_cpus import cpu_files
from numaplace.decide.discover.describe_memory import numa_files
from numaplace.decide.discover.describe_pci import device_files, device_links
from numaplace.decide.discover.tree import Tree
from numaplace.model.cpuset import CpuSet
from numaplace.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Description:
    """The machine that is claimed, and how its files shall differ from an honest kernel's."""

    claimed: Topology
    offline: CpuSet = CpuSet()  # present, but not online
    files: Mapping[str, str] = field(default_factory=dict)  # path to text, replacing or adding: lies of firmware


def tree_of(description: Description) -> Tree:
    """Write the machine as the files of /sys and /proc that discovery reads.

    `assemble` of the result gives back the claimed topology, unless `files` changed it.
    What no kernel shows (links between GPUs, faults) stands in the facts file.
    """
    machine = description.claimed
    files = {
        **cpu_files(machine, offline=description.offline),
        **numa_files(machine),
        **device_files(machine),
    }
    written = {path: text.encode() for path, text in {**files, **description.files}.items()}
    return Tree(files=written, links=device_links(machine))

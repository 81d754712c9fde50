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
from numaplace.decide.discover.facts import Facts, facts_text
from numaplace.decide.discover.sources import FACTS
from numaplace.decide.discover.tree import Tree
from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import NVIDIA_VENDOR
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
    if words := facts_text(_facts_of(machine)):
        files[FACTS] = words
    tree = Tree({path: text.encode() for path, text in files.items()}, device_links(machine))
    changed = {tree.follow(path): text.encode() for path, text in description.files.items()}
    return Tree({**tree.files, **changed}, tree.links)


def _facts_of(machine: Topology) -> Facts:
    """What the files above cannot say of this machine."""
    quiet = [gpu for gpu in machine.gpus if gpu.vendor != NVIDIA_VENDOR]  # no files of a driver are written for these
    return Facts(
        uuids={gpu.pci: gpu.uuid for gpu in quiet if gpu.uuid},
        models={gpu.pci: gpu.model for gpu in quiet if gpu.model},
        memory_numas={gpu.pci: gpu.memory_numa for gpu in quiet if gpu.memory_numa is not None},
        mig={gpu.pci: True for gpu in quiet if gpu.mig},
        gpu_faults={gpu.pci: gpu.fault for gpu in machine.gpus if gpu.fault},
        hca_faults={hca.name: hca.fault for hca in machine.hcas if hca.fault},
        nvlinks=machine.nvlinks,
    )

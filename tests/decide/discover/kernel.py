"""Small machines as a kernel would show them, for tests that change one file of it."""

from collections.abc import Mapping

from numaplace.decide.discover import Discovery, Tree, assemble
from numaplace.decide.discover.sources import CPU, NODE, PCI
from numaplace.model.finding import FindingCode

Files = dict[str, str]


def two_sockets() -> Files:
    """Eight CPUs: two packages of two cores with two threads each, one NUMA domain a package."""
    files = {f"{CPU}/online": "0-7", f"{CPU}/present": "0-7", f"{NODE}/online": "0-1", f"{NODE}/possible": "0-1"}
    for cpu in range(8):
        package, core = divmod(cpu, 4)
        folder = f"{CPU}/cpu{cpu}"
        files |= {
            f"{folder}/topology/core_cpus_list": f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}",
            f"{folder}/topology/package_cpus_list": f"{package * 4}-{package * 4 + 3}",
            f"{folder}/topology/physical_package_id": str(package),
            f"{folder}/topology/core_id": str(core // 2),
            f"{folder}/cache/index3/level": "3",
            f"{folder}/cache/index3/type": "Unified",
            f"{folder}/cache/index3/size": "8192K",
            f"{folder}/cache/index3/shared_cpu_list": f"{package * 4}-{package * 4 + 3}",
        }
    for numa, cpus, distance in ((0, "0-3", "10 21"), (1, "4-7", "21 10")):
        files |= {
            f"{NODE}/node{numa}/cpulist": cpus,
            f"{NODE}/node{numa}/meminfo": f"Node {numa} MemTotal: 1048576 kB\nNode {numa} MemFree: 1024 kB",
            f"{NODE}/node{numa}/distance": distance,
        }
    return files


def without(files: Mapping[str, str], *words: str) -> Files:
    """The files whose path holds none of the words."""
    return {path: text for path, text in files.items() if not any(word in path for word in words)}


def function(path: str, **told: str) -> tuple[Files, dict[str, str]]:
    """A PCI function at a place such as pci0000:3a/0000:3b:00.0: its files and its link."""
    address = path.rpartition("/")[2]
    files = {f"sys/devices/{path}/{name}": text for name, text in told.items()}
    return files, {f"{PCI}/{address}": f"sys/devices/{path}"}


def tree_of(files: Mapping[str, str], links: Mapping[str, str] | None = None) -> Tree:
    return Tree({path: f"{text}\n".encode() for path, text in files.items()}, links or {})


def discover(files: Mapping[str, str], links: Mapping[str, str] | None = None) -> Discovery:
    return assemble(tree_of(files, links))


def codes(discovery: Discovery) -> set[FindingCode]:
    return {finding.code for finding in discovery.findings}

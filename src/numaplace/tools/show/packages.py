"""Which NUMA domains lie in which package, as tree and picture arrange them."""

from collections.abc import Sequence

from numaplace.model.topology import Numa, Package, Topology


def numas_by_package(topology: Topology) -> tuple[Sequence[tuple[Package, Sequence[Numa]]], Sequence[Numa]]:
    """Each package with the domains inside it, maybe none; and the domains with CPUs that no package holds whole."""
    left = [numa for numa in topology.numas if numa.cpus]
    packages = []
    for package in topology.packages:
        inside = [numa for numa in left if numa.cpus.issubset(package.cpus)]
        left = [numa for numa in left if numa not in inside]
        packages.append((package, inside))
    return packages, left

"""The one list of what discovery reads, so that reader, capture and writer agree.

A pattern is a path below the root. In a component, `#` stands for decimal digits and
a lone `*` for any name; `a|b` in the last component is the first of these names that
exists. A pattern that ends in `@` is a symbolic link of which only the target matters.
Units, origins and known lies of every path: docs/sources.md.
"""

from __future__ import annotations

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
PCI = "sys/bus/pci/devices"
HCA = "sys/class/infiniband"
NET = "sys/class/net"
KFD = "sys/class/kfd/kfd/topology/nodes"
NVIDIA = "proc/driver/nvidia"
HUGEPAGES = "sys/kernel/mm/hugepages"
MEMINFO = "proc/meminfo"
CPUINFO = "proc/cpuinfo"
FACTS = "etc/numaplace/facts"
UNREADABLE = "etc/numaplace/unreadable"

SIBLINGS = ("core_cpus_list", "thread_siblings_list", "core_cpus", "thread_siblings")
PACKAGE = ("package_cpus_list", "core_siblings_list", "package_cpus", "core_siblings")
DIE = ("die_cpus_list", "die_cpus")
BOOK = ("book_siblings_list", "book_siblings")  # s390 only: a package number is unique inside its book
SHARED = ("shared_cpu_list", "shared_cpu_map")
LOCAL = ("local_cpulist", "local_cpus")
HYBRID = ("cpu_core", "cpu_atom", "cpu_lowpower")  # Intel's PMUs of one core kind each, fastest first

PATTERNS: tuple[str, ...] = (
    *(f"{CPU}/{name}" for name in ("online", "present", "possible")),
    f"{CPU}/cpu#/online",
    f"{CPU}/cpu#/cpu_capacity",
    f"{CPU}/cpu#/regs/identification/midr_el1",
    *(f"{CPU}/cpu#/topology/{name}" for name in ("physical_package_id", "core_id", "die_id")),
    *(f"{CPU}/cpu#/topology/{'|'.join(names)}" for names in (SIBLINGS, PACKAGE, DIE, BOOK)),
    *(f"{CPU}/cpu#/cache/index#/{name}" for name in ("level", "type", "size", "|".join(SHARED))),
    *(f"sys/devices/{name}/cpus" for name in HYBRID),
    *(f"{NODE}/{name}" for name in ("online", "possible", "has_memory|has_normal_memory", "has_generic_initiator")),
    *(f"{NODE}/node#/{name}" for name in ("cpulist", "cpumap", "meminfo", "distance")),
    *(f"{NODE}/node#/hugepages/hugepages-#kB/{name}" for name in ("nr_hugepages", "free_hugepages")),
    *(f"{PCI}/*/{name}" for name in ("class", "vendor", "device", "numa_node", "|".join(LOCAL))),
    *(f"{PCI}/*/{name}@" for name in ("driver", "physfn")),
    *(f"{HCA}/*/{name}" for name in ("node_type", "parent")),
    f"{HCA}/*/device@",
    *(f"{HCA}/*/ports/#/{name}" for name in ("state", "link_layer", "rate")),
    f"{NET}/*@",
    f"{KFD}/#/properties",
    f"{KFD}/#/io_links/#/properties",
    f"{NVIDIA}/gpus/*/information",
    f"{NVIDIA}/gpus/*/numa_status",
    f"{NVIDIA}/capabilities/gpu#/mig/gi#/access",
    f"{NVIDIA}/capabilities/gpu#/mig/gi#/ci#/access",
    *(f"{HUGEPAGES}/hugepages-#kB/{name}" for name in ("nr_hugepages", "free_hugepages")),
    MEMINFO,
    FACTS,
    UNREADABLE,
)

FALLBACK_PATTERNS: tuple[str, ...] = (CPUINFO,)
"""Read only where no CPU has a `topology` folder: making cpuinfo is slow on a large machine."""

MAX_FILE_BYTES = 65_536  # sysfs gives a page; meminfo and NVIDIA's files stay below 8 KiB
MAX_CPUINFO_BYTES = 16 * 1_048_576  # 1.5–4 KiB a CPU, up to 4096 CPUs


def max_bytes(path: str) -> int:
    """How long the file may be before it is taken for nonsense."""
    return MAX_CPUINFO_BYTES if path == CPUINFO else MAX_FILE_BYTES

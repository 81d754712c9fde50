"""Findings: what is wrong or doubtful in what a machine says of itself.

Discovery never fails on bad firmware; it goes on with the honest reading and
says so in a Finding. Codes are stable, the text is for a person.
"""

from dataclasses import dataclass
from enum import StrEnum


class FindingCode(StrEnum):
    """Stable names of what can be wrong; docs/reference/findings.md explains each."""

    NUMA_UNKNOWN = "NUMA_UNKNOWN"  # a device of a multi-domain machine without any word on its domain
    NUMA_CONFLICT = "NUMA_CONFLICT"  # two sources name different domains
    NUMA_ABSENT = "NUMA_ABSENT"  # no NUMA folders at all: read as one domain 0
    CPU_IN_NO_NUMA = "CPU_IN_NO_NUMA"
    CPU_IN_TWO_NUMAS = "CPU_IN_TWO_NUMAS"
    DISTANCE_MISSING = "DISTANCE_MISSING"
    DISTANCE_ODD = "DISTANCE_ODD"  # not 10 to itself, below 10 to others, wrong count or asymmetric
    SIBLINGS_ODD = "SIBLINGS_ODD"  # SMT siblings that cross domains or contradict each other
    PACKAGE_UNKNOWN = "PACKAGE_UNKNOWN"
    LLC_CROSSES = "LLC_CROSSES"  # a last-level cache that spans packages
    MEMORY_ODD = "MEMORY_ODD"
    CPU_OFFLINE = "CPU_OFFLINE"  # present but not online
    GPU_MIG = "GPU_MIG"
    DEVICE_FAULT = "DEVICE_FAULT"
    FILE_BROKEN = "FILE_BROKEN"  # unreadable, truncated, of another type, or absurd
    NOTHING_FOUND = "NOTHING_FOUND"  # the root holds no machine


@dataclass(frozen=True, slots=True)
class Finding:
    """One doubt: its kind, the file or device it is about, and a sentence."""

    code: FindingCode
    where: str
    text: str

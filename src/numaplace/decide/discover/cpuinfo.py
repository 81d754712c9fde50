"""/proc/cpuinfo, asked only where no CPU has a topology folder.

Old kernels and small guests tell there which CPUs run, and on x86 and ia64 the
package and core of each.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numaplace.model.cpuset import MAX_CPU_ID

_LINE = re.compile(r"^(processor|physical id|core id)[ \t]*:[ \t]*(\d{1,9})[ \t]*$", re.MULTILINE | re.ASCII)
_S390_LINE = re.compile(r"^processor (\d{1,5}):", re.MULTILINE | re.ASCII)


class Listed(NamedTuple):
    """What cpuinfo says of one CPU."""

    package: int | None = None
    core: int | None = None


def parse_cpuinfo(text: str) -> dict[int, Listed]:
    """The CPUs that cpuinfo lists; a CPU number out of range ends the list."""
    listed = {int(match[1]): Listed() for match in _S390_LINE.finditer(text) if int(match[1]) <= MAX_CPU_ID}
    cpu: int | None = None
    for key, value in _LINE.findall(text):
        if key == "processor":
            cpu = int(value)
            if cpu > MAX_CPU_ID:
                break
            listed[cpu] = Listed()
        elif cpu is not None:
            field = "package" if key == "physical id" else "core"
            listed[cpu] = listed[cpu]._replace(**{field: int(value)})
    return listed

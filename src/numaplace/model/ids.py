"""Names of things as types, so that a NUMA id is never taken for a CPU number.

Everything that identifies something in the other nouns is one of these. Two
identifiers of different kinds do not mix under mypy, at no cost at run time.
"""

import re
from typing import NewType

from numaplace.model.errors import InputError

NumaId = NewType("NumaId", int)
PackageId = NewType("PackageId", int)
NodeName = NewType("NodeName", str)
PodUid = NewType("PodUid", str)
ContainerName = NewType("ContainerName", str)
PciAddress = NewType("PciAddress", str)  # "0000:3b:00.0": lower case, four or more domain digits
GpuUuid = NewType("GpuUuid", str)
HcaName = NewType("HcaName", str)  # the kernel's name, such as mlx5_0 or rocep59s0

_PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)


def parse_pci_address(text: str) -> PciAddress:
    """Bring a PCI address into the one form used here: `0000:3b:00.0`.

    A missing domain is 0000; NVML's eight-digit upper-case domains become the
    kernel's lower-case ones of four or more digits. InputError on anything else.
    """
    match = _PCI.fullmatch(text.strip())
    if match is None:
        raise InputError(
            "PCI address", found=repr(text[:40]), wanted="DOMAIN:BUS:DEVICE.FUNCTION in hex, like 0000:3b:00.0"
        )
    domain, bus, device, function = match.groups(default="0")
    return PciAddress(f"{int(domain, 16):04x}:{bus}:{device}.{function}".lower())

"""Which PCI functions are accelerator cards, and which only paint a screen.

A table of vendors and device classes: a server's BMC shows a VGA device too, and
so do most virtual machines. docs/sources.md#accelerators has the origin of each row.
"""

from __future__ import annotations

from collections.abc import Mapping

from numaplace.model.devices import AMD_VENDOR, INTEL_VENDOR, NVIDIA_VENDOR, PciDevice

VGA, THREE_D, OTHER_DISPLAY, COPROCESSOR, ACCELERATOR = 0x0300, 0x0302, 0x0380, 0x0B40, 0x1200

CLASSES_OF_VENDOR: Mapping[str, frozenset[int]] = {
    NVIDIA_VENDOR: frozenset({VGA, THREE_D}),
    AMD_VENDOR: frozenset({VGA, THREE_D, OTHER_DISPLAY, ACCELERATOR}),
    INTEL_VENDOR: frozenset({VGA, THREE_D, OTHER_DISPLAY}),  # its processing accelerators are FPGAs and NPUs
    "1d94": frozenset({VGA, THREE_D, OTHER_DISPLAY, COPROCESSOR, ACCELERATOR}),  # Hygon DCU
    "1ed5": frozenset({VGA, THREE_D, OTHER_DISPLAY, ACCELERATOR}),  # Moore Threads
    "9999": frozenset({VGA, THREE_D, OTHER_DISPLAY, ACCELERATOR}),  # MetaX
    "1ded": frozenset({THREE_D, OTHER_DISPLAY, ACCELERATOR}),  # Alibaba T-Head PPU; its others are NICs and disks
    "1bcf": frozenset({COPROCESSOR}),  # NEC SX-Aurora
    "1e3e": frozenset({THREE_D, OTHER_DISPLAY, ACCELERATOR}),  # Iluvatar CoreX
}
OTHER_VENDORS = frozenset({ACCELERATOR})  # Huawei Ascend, Cambricon, Enflame, Habana, Kunlunxin and whoever comes

FPGA_VENDORS = frozenset({"10ee", "1172"})  # Xilinx and Altera show boards as processing accelerators
AMD_BMC_DEVICES = frozenset({"4752", "515e", "5159", "5969"})  # Rage XL, ES1000, RV100: on server boards until 2012
INTEL_BUILT_IN = ":00:02.0"  # the place of graphics inside an Intel CPU


def is_accelerator(device: PciDevice) -> bool:
    """True for a whole card; virtual functions are parts of one."""
    if device.physical is not None or device.vendor in FPGA_VENDORS:
        return False
    if device.vendor == AMD_VENDOR and device.device in AMD_BMC_DEVICES:
        return False
    if device.vendor == INTEL_VENDOR and device.address.endswith(INTEL_BUILT_IN):
        return False
    return device.class_code >> 8 in CLASSES_OF_VENDOR.get(device.vendor, OTHER_VENDORS)

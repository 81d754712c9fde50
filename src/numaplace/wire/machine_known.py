"""Machines that are known by name: each a text that anybody could have written.

Sizes and positions are those of public documents; what these do not tell (bus
numbers, most names) is made up as for every described machine.
"""

from typing import NamedTuple


class Known(NamedTuple):
    """One machine: the line that lists it, and its description."""

    summary: str
    text: str


KNOWN: dict[str, Known] = {
    "lingjun": Known(
        "192 CPUs in 2 packages, 2 TiB, 8 GPUs and 8 HCAs in PIX pairs, NVSwitch",
        "2pkg 192cpu 2TiB 8gpu 8hca pix nvswitch",
    ),
    "dgx-h100": Known(
        "224 CPUs in 2 packages, 2 TiB, 8 GPUs and 8 HCAs in PIX pairs, NVSwitch",
        "2pkg 224cpu 2TiB 8gpu 8hca pix nvswitch18",
    ),
    "cloud-vm": Known(
        "one NUMA domain, 4 GPUs and an HCA that say -1",
        "1pkg 48cpu paired 384GiB 4gpu 1hca phb numa-unknown",
    ),
    "l20": Known(
        "128 CPUs in 2 packages, 1 TiB, 8 PCIe GPUs without NVLink, 2 HCAs",
        "2pkg 128cpu 1TiB 8gpu 2hca pxb roce 200gbps",
    ),
    "laptop-hybrid": Known("6 fast and 8 slow cores, 32 GiB", "6pcore 8ecore 32GiB"),
    "big-numa": Known(
        "8 NUMA domains in 2 packages, 256 CPUs, 16 GPUs and 16 HCAs in PIX pairs, NVSwitch",
        "2pkg nps4 256cpu amd 2TiB 16gpu 16hca pix nvswitch",
    ),
}

"""Machines that are known by name: each a text that anybody could have written.

Sizes and positions are those of public documents; what these do not tell (bus
numbers, most names) is made up as for every described machine.
"""

from typing import NamedTuple


class Known(NamedTuple):
    """One machine: the line that lists it, and its description."""

    summary: str
    text: str


_DGX_A100 = """\
note: GPU and HCA positions and CPU numbers as nvidia-smi topo shows them; NVLink through NVSwitch
like: 2pkg nps4 256cpu amd 1TiB
gpu-model: NVIDIA A100-SXM4-80GB
numas:
- id: 1
  switches:
  - switches:
    - gpus: [{pci: "0000:47:00.0"}, {pci: "0000:4e:00.0"}]
    - hcas:
      - {name: mlx5_2, pci: "0000:4b:00.0", ports: &hdr [{gbps: 200}]}
      - {name: mlx5_3, pci: "0000:54:00.0", ports: *hdr}
- id: 3
  switches:
  - switches:
    - gpus: [{pci: "0000:07:00.0"}, {pci: "0000:0f:00.0"}]
    - hcas: [{name: mlx5_0, pci: "0000:0c:00.0", ports: *hdr}, {name: mlx5_1, pci: "0000:12:00.0", ports: *hdr}]
- id: 5
  switches:
  - switches:
    - gpus: [{pci: "0000:b7:00.0"}, {pci: "0000:bd:00.0"}]
    - hcas: [{name: mlx5_8, pci: "0000:ba:00.0", ports: *hdr}, {name: mlx5_9, pci: "0000:cc:00.0", ports: *hdr}]
- id: 7
  switches:
  - switches:
    - gpus: [{pci: "0000:87:00.0"}, {pci: "0000:90:00.0"}]
    - hcas: [{name: mlx5_6, pci: "0000:8d:00.0", ports: *hdr}, {name: mlx5_7, pci: "0000:94:00.0", ports: *hdr}]
nvlinks: 12
"""

_DGX_1 = """\
note: the hybrid cube mesh of eight V100 with six links each; two GPUs and an HCA below each switch
like: 2pkg 80cpu 512GiB
gpu-model: Tesla V100-SXM2-32GB
numas:
- id: 0
  switches: [{gpus: 2, hcas: [{ports: [{gbps: 100}]}]}, {gpus: 2, hcas: [{ports: [{gbps: 100}]}]}]
- id: 1
  switches: [{gpus: 2, hcas: [{ports: [{gbps: 100}]}]}, {gpus: 2, hcas: [{ports: [{gbps: 100}]}]}]
nvlinks:
- {links: 1, gpus: [0, 1]}
- {links: 1, gpus: [0, 2]}
- {links: 2, gpus: [0, 3]}
- {links: 2, gpus: [0, 4]}
- {links: 2, gpus: [1, 2]}
- {links: 1, gpus: [1, 3]}
- {links: 2, gpus: [1, 5]}
- {links: 2, gpus: [2, 3]}
- {links: 1, gpus: [2, 6]}
- {links: 1, gpus: [3, 7]}
- {links: 1, gpus: [4, 5]}
- {links: 1, gpus: [4, 6]}
- {links: 2, gpus: [4, 7]}
- {links: 2, gpus: [5, 6]}
- {links: 1, gpus: [5, 7]}
- {links: 2, gpus: [6, 7]}
"""

_GB200 = """\
note: a tray with two Grace CPUs; each GPU's memory is a NUMA domain, seven more a GPU are kept for MIG
smt: 1
gpu-model: NVIDIA GB200
numas:
- id: 0
  cpus: 0-71
  package: 0
  memory: 480GiB
  gpus: [{pci: "0008:01:00.0", memory-numa: 2}, {pci: "0009:01:00.0", memory-numa: 10}]
  hcas: [{name: mlx5_0, pci: "0000:03:00.0"}, {name: mlx5_1, pci: "0002:03:00.0"}]
- id: 1
  cpus: 72-143
  package: 1
  memory: 480GiB
  gpus: [{pci: "0018:01:00.0", memory-numa: 18}, {pci: "0019:01:00.0", memory-numa: 26}]
  hcas: [{name: mlx5_4, pci: "0010:03:00.0"}, {name: mlx5_5, pci: "0012:03:00.0"}]
- {id: "2,10,18,26", memory: 186GiB}
- {id: "3-9,11-17,19-25,27-33"}
distances: {other-package: 40, to-memory: 80}
nvlinks: 18
"""

KNOWN: dict[str, Known] = {
    "lingjun": Known(
        "192 CPUs in 2 packages, 2 TiB, 8 GPUs and 8 HCAs in PIX pairs, NVSwitch",
        "2pkg 192cpu 2TiB 8gpu 8hca pix nvswitch",
    ),
    "dgx-h100": Known(
        "224 CPUs in 2 packages, 2 TiB, 8 GPUs and 8 HCAs in PIX pairs, NVSwitch",
        "{like: 2pkg 224cpu 2TiB 8gpu 8hca pix nvswitch18, gpu-model: NVIDIA H100 80GB HBM3}",
    ),
    "dgx-a100": Known("8 NUMA domains of 32 CPUs, 2 GPUs and 2 HCAs on every second one, NVSwitch", _DGX_A100),
    "dgx-1": Known("80 CPUs in 2 packages, 8 V100 in an NVLink mesh, 4 HCAs", _DGX_1),
    "gb200": Known("2 Grace CPUs, 4 GPUs whose memory makes 32 further NUMA domains, 4 HCAs", _GB200),
    "cloud-vm": Known(
        "one NUMA domain, 4 GPUs and an HCA that say -1",
        "1pkg 48cpu paired 384GiB 4gpu 1hca phb numa-unknown",
    ),
    "l20": Known(
        "128 CPUs in 2 packages, 1 TiB, 8 PCIe GPUs without NVLink, 2 HCAs",
        "{like: 2pkg 128cpu 1TiB 8gpu 2hca pxb roce 200gbps, gpu-model: NVIDIA L20}",
    ),
    "laptop-hybrid": Known("6 fast and 8 slow cores, 32 GiB", "6pcore 8ecore 32GiB"),
    "big-numa": Known(
        "8 NUMA domains in 2 packages, 256 CPUs, 16 GPUs and 16 HCAs in PIX pairs, NVSwitch",
        "2pkg nps4 256cpu amd 2TiB 16gpu 16hca pix nvswitch",
    ),
}

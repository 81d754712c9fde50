"""Tree, table and matrix, as a person sees them."""

from textwrap import dedent

import pytest

from numaplace.tools.show.matrix import matrix_text
from numaplace.tools.show.plain import plain
from numaplace.tools.show.table import table_text
from numaplace.tools.show.tree import tree_text
from numaplace.wire.machine import discovered, machine

SMALL = "2pkg 8cpu 8GiB 2gpu 2hca pix nvswitch4"


def test_the_tree_shows_packages_domains_switches_and_cards() -> None:
    assert tree_text(discovered(SMALL)) == dedent(
        """\
        Machine: 8 CPUs, 2 packages, 2 NUMA domains, 8 GiB, 2 GPUs, 2 HCAs
        ├─ Package 0: 2 cores × 2 threads
        │  └─ NUMA 0: CPUs 0-1,4-5, 4 GiB, L3 32 MiB
        │     ├─ distance 21 to NUMA 1
        │     └─ PCIe switch 0000:11:00.0
        │        ├─ GPU 0  0000:13:00.0  NVIDIA GPU
        │        └─ HCA mlx5_0  0000:14:00.0  InfiniBand 400 Gb/s
        ├─ Package 1: 2 cores × 2 threads
        │  └─ NUMA 1: CPUs 2-3,6-7, 4 GiB, L3 32 MiB
        │     ├─ distance 21 to NUMA 0
        │     └─ PCIe switch 0000:89:00.0
        │        ├─ GPU 1  0000:8b:00.0  NVIDIA GPU
        │        └─ HCA mlx5_1  0000:8c:00.0  InfiniBand 400 Gb/s
        └─ NVLink: every two GPUs have 4 links
        """
    )


def test_the_tree_ends_with_what_is_doubtful() -> None:
    lines = tree_text(discovered("2pkg 8cpu 1gpu numa-unknown")).splitlines()
    assert "└─ NUMA unknown" in lines
    assert lines[lines.index("") + 1] == "2 findings:"
    assert lines[-1].startswith("  NUMA_UNKNOWN  sys/bus/pci/devices/0000:11:00.0: ")


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("6pcore 8ecore 32GiB", "cpu_atom: 8 cores, CPUs 12-19"),
        ("gb200", "NUMA 2: 186 GiB, memory of GPU 0"),
        ("gb200", "NUMA 3-9: neither CPU nor memory"),
        ("dgx-a100", "distance 12 to NUMA 1-3, 32 to NUMA 4-7"),
        ("32cpu 2llc 1TiB", "L3 32 MiB: CPUs 8-15,24-31"),
        ("8cpu 8GiB 512x2MiB", "NUMA 0: CPUs 0-7, 8 GiB (7 GiB free), L3 32 MiB, hugepages 512 × 2 MiB"),
        ("cloud-vm", "Host bridge pci0000:10"),
        ("like: lingjun\nfaults: {mlx5_0: flaps}", "HCA mlx5_0  0000:14:00.0  InfiniBand 400 Gb/s  !! flaps"),
        ("like: 2pkg\nnumas: [{id: 5, memory: 64GiB}]", "NUMA 5: 64 GiB, memory only"),
        ("like: 2pkg 8cpu\nnumas: [{id: 0, memory: 0GiB}]", "NUMA 0: CPUs 0-1,4-5, no memory, L3 32 MiB"),
        ("like: 2pkg 8cpu\nnumas: [{id: 0, nics: 2}]", "further PCI: 2 network"),
        ("like: 2pkg 8cpu\nllcs: [0-7]", "L3 32 MiB: CPUs 0-7"),
        ("dgx-1", "NVLink: 16 of 28 pairs of GPUs have links, see -o matrix"),
    ],
)
def test_the_tree_says(spec: str, line: str) -> None:
    assert line in [row.lstrip("│├└─ ") for row in tree_text(discovered(spec)).splitlines()]


def test_a_domain_that_spans_packages_stands_beside_them() -> None:
    lines = tree_text(discovered("2pkg 1numa 8cpu 8GiB")).splitlines()
    assert lines[1::2] == ["├─ Package 0: 2 cores × 2 threads", "├─ Package 1: 2 cores × 2 threads", lines[-1]]
    assert lines[2::2] == ["│  └─ L3 32 MiB: CPUs 0-1,4-5", "│  └─ L3 32 MiB: CPUs 2-3,6-7"]
    assert lines[-1] == "└─ NUMA 0: CPUs 0-7, 8 GiB"


def test_the_matrix_is_like_that_of_nvidia_smi_with_hcas() -> None:
    assert matrix_text(machine(SMALL)) == dedent(
        """\
                GPU0  GPU1  mlx5_0  mlx5_1  CPU affinity  NUMA affinity
        GPU0    X     NV4   PIX     SYS     0-1,4-5       0
        GPU1    NV4   X     SYS     PIX     2-3,6-7       1
        mlx5_0  PIX   SYS   X       SYS     0-1,4-5       0
        mlx5_1  SYS   PIX   SYS     X       2-3,6-7       1

        GPU0    0000:13:00.0  NVIDIA GPU
        GPU1    0000:8b:00.0  NVIDIA GPU
        mlx5_0  0000:14:00.0
        mlx5_1  0000:8c:00.0

        X    itself
        NV#  NVLink or xGMI, # links
        PIX  at most one PCIe switch
        SYS  the link between packages, or nothing is known

        Distances between NUMA domains (10 = local):
                 0   1
        NUMA 0  10  21
        NUMA 1  21  10
        """
    )


def test_the_matrix_of_a_machine_without_devices_says_so() -> None:
    assert matrix_text(machine("8cpu")) == "This machine has no GPU and no HCA.\n"


def test_an_unknown_domain_has_unknown_affinity() -> None:
    row = next(line for line in matrix_text(machine("2pkg 1gpu numa-unknown")).splitlines() if line.startswith("GPU0"))
    assert row.split() == ["GPU0", "X", "?", "?"]


def test_the_table_has_a_row_for_each_domain_and_device() -> None:
    assert table_text(machine(SMALL)) == dedent(
        """\
        NUMA  KIND  PACKAGE  CPUS     CORES                MEMORY  HUGEPAGES  GPUS  HCAS
        0     cpu   0        0-1,4-5  2 cores × 2 threads  4 GiB   -          1     1
        1     cpu   1        2-3,6-7  2 cores × 2 threads  4 GiB   -          1     1

        DEVICE  PCI           NUMA  WHAT                 NEAREST HCA  HEALTH
        GPU0    0000:13:00.0  0     NVIDIA GPU           PIX mlx5_0   ok
        GPU1    0000:8b:00.0  1     NVIDIA GPU           PIX mlx5_1   ok
        mlx5_0  0000:14:00.0  0     InfiniBand 400 Gb/s  -            ok
        mlx5_1  0000:8c:00.0  1     InfiniBand 400 Gb/s  -            ok
        """
    )


def test_a_terminal_without_the_signs_gets_plainer_ones() -> None:
    assert plain("├─ 2 × 3\n└─ é", "ascii") == "|- 2 x 3\n`- ?"
    assert plain("├─ 2 × 3\n", "utf-8") == "├─ 2 × 3\n"
    assert plain("├─\n", None) == "|-\n"


def test_what_files_hold_cannot_move_the_cursor() -> None:
    assert plain("model \x1b[2J\x07\r\x9b\n", "utf-8") == "model ?[2J???\n"
    assert plain("pod\u202egnp.a\u2028b\u2066\n", "utf-8") == "pod?gnp.a?b?\n"

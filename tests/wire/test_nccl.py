"""Topology files of NCCL and RCCL as machines: all recorded ones, and what a file can do wrong."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from numaplace.decide.discover import assemble
from numaplace.decide.discover.describe import tree_of
from numaplace.model.errors import InputError
from numaplace.model.proximity import Level, level_between
from numaplace.model.topology import Topology
from numaplace.wire.nccl import parse_nccl
from tests.recorded import recorded_files

SWITCHED = """
<system version="1">
  <cpu numaid="0" affinity="0000ffff">
    <pci busid="0000:01:00.0" class="0x060400">
      <pci busid="0000:03:00.0" class="0x030200"><gpu dev="0">
        <nvlink target="0000:00:00.0" count="6" tclass="0x068000"/>
        <nvlink target="0000:00:01.0" count="6" tclass="0x068000"/>
      </gpu></pci>
      <pci busid="0000:04:00.0" class="0x020700"><nic><net name="mlx5_0" port="1" speed="200000"/></nic></pci>
      <pci busid="0000:05:00.0" class="0x060400">
        <pci busid="0000:07:00.0" class="0x030200"><gpu dev="1">
          <nvlink target="0000:00:00.0" count="8" tclass="0x068000"/>
        </gpu></pci>
      </pci>
    </pci>
    <pci busid="0000:08:00.0" class="0x020000"><nic><net name="eth0" port="0" speed="10000"/></nic></pci>
  </cpu>
  <cpu numaid="3" affinity="ffff0000"><pci busid="0000:81:00.0" class="0x038000"/></cpu>
</system>
"""


def topology_in(text: str) -> Topology:
    return assemble(tree_of(parse_nccl(text, "topo.xml"))).topology


def cards_by_numa(topology: Topology) -> Counter[tuple[int | None, str]]:
    """GPUs and NICs of each domain; a NIC is an RDMA device, or a network card without one."""
    with_rdma = {hca.pci for hca in topology.hcas}
    plain = [f for f in topology.pci if f.class_code >> 16 == 0x02 and f.address not in with_rdma]
    counts: Counter[tuple[int | None, str]] = Counter((gpu.numa, "g") for gpu in topology.gpus)
    for nics in (topology.hcas, plain):
        counts.update((nic.numa, "n") for nic in nics)
    return counts


@pytest.mark.parametrize("file", recorded_files("nccl-topo/*.xml"))
def test_a_recorded_file_has_the_gpus_and_nics_of_its_index(file: Path) -> None:
    rows = {row["file"]: row for row in csv.DictReader((file.parent / "index.csv").read_text().splitlines())}
    expected: Counter[tuple[int | None, str]] = Counter()
    for numa, gpus, nics in re.findall(r"(\d+):(\d+)g/(\d+)n", rows[file.name]["per_numa"]):
        expected.update({(int(numa), "g"): int(gpus), (int(numa), "n"): int(nics)})
    text = file.read_text()
    # Interfaces that are no PCI device (bond0, veth…) hang on a CPU in the file and on nothing in a machine.
    for cpu in re.finditer(r'<cpu [^>]*numaid="(\d+)".*?</cpu>', text, re.DOTALL):
        expected[(int(cpu[1]), "n")] -= len(re.findall(r"^    <nic>", cpu[0], re.MULTILINE))
    assert cards_by_numa(topology_in(text)) == +expected


@pytest.mark.parametrize("file", recorded_files("nccl-topo/*.xml"))
def test_a_recorded_file_has_its_affinity_masks_and_link_counts(file: Path) -> None:
    text = file.read_text()
    topology = topology_in(text)
    masks = re.findall(r'numaid="(\d+)" affinity="([0-9a-f,]+)"', text)
    told = {int(id): int("".join(word.zfill(8) for word in mask.split(",")), 16) for id, mask in masks}
    assert {numa.id: numa.cpus.bits for numa in topology.numas if numa.cpus} == told
    ends = Counter(end for link in topology.nvlinks for end in (link.a, link.b) for _ in range(link.count))
    written = sum(int(count) for count in re.findall(r'<(?:xgmi|nvlink) [^>]*count="(\d+)"', text))
    to_itself = 48 if file.name == "azure-ncv4-topo.xml" else 0  # twelve a card, none of them to another one
    assert sum(ends.values()) == written - to_itself


def test_one_switch_is_pix_and_a_switch_below_it_pxb() -> None:
    topology = topology_in(SWITCHED)
    near, far, _ = topology.gpus
    (hca,) = topology.hcas
    assert level_between(topology, near, hca) is Level.PIX
    assert level_between(topology, far, hca) is Level.PXB


def test_links_into_switches_join_the_cards_behind_them() -> None:
    (link,) = topology_in(SWITCHED).nvlinks
    assert (link.a, link.b, link.count) == ("0000:03:00.0", "0000:07:00.0", 8)


def test_a_socket_interface_is_no_hca_and_vendors_are_told_by_look() -> None:
    topology = topology_in(SWITCHED)
    assert [(hca.name, hca.ports[0].link_gbps) for hca in topology.hcas] == [("mlx5_0", 200)]
    assert [gpu.vendor for gpu in topology.gpus] == ["10de", "10de", "1002"]
    assert [numa.id for numa in topology.numas] == [0, 3]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<system><cpu", "topo.xml, line 1: found broken XML"),
        ("<graphs/>", "topo.xml: found <graphs>; expected <system> with <cpu> elements"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><system/>', "topo.xml, line 1: found a document type"),
        ('<system><cpu numaid="x"/></system>', "line 1: numaid: found 'x'; expected 0..1023"),
        ('<system><cpu numaid="0"/><cpu numaid="0"/></system>', "found one numaid on two <cpu>"),
        ('<system><cpu numaid="0" affinity="q"/></system>', "line 1: affinity: CPU mask: found 'q'"),
        ('<system><cpu numaid="0"><pci busid="1"/></cpu></system>', "line 1: busid: PCI address: found '1'"),
        ("<a>" * 70 + "</a>" * 70, "found more than 64 levels"),
        ("<a>" + "<b/>" * 20_000 + "</a>", "found more than 20000 elements"),
        (
            '<system><cpu numaid="0">' + '<pci busid="00:01.0" class="0x030200"/>' * 2 + "</cpu></system>",
            "found 0000:00:01.0 twice; expected each card once",
        ),
    ],
)
def test_a_wrong_file_gets_a_sentence(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_nccl(text, "topo.xml")
    assert str(caught.value).startswith("topo.xml")
    assert complaint in str(caught.value)

"""The allocation annotation: the very bytes, the way back, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.allocation import Allocation, ContainerShare, GpuRef, HcaRef, NumaCharge
from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import InputError
from numaplace.model.ids import ContainerName, GpuUuid, HcaName, NodeName, NumaId, PciAddress, parse_pci_address
from numaplace.model.proximity import Level
from numaplace.model.request import Hugepages, Policy
from numaplace.wire.allocation import decode, encode

EXAMPLE = Allocation(
    node=NodeName("e01-cn-0001"),
    numas=(NumaId(0),),
    policy=Policy.SINGLE_NUMA_NODE,
    width=1,
    containers={
        ContainerName("example"): ContainerShare(
            cpus=CpuSet.parse("0-11,48-59"),
            gpus=(GpuRef(PciAddress("0000:3b:00.0"), GpuUuid("GPU-1")),),
            hcas=(HcaRef(HcaName("mlx5_0"), PciAddress("0000:3a:00.0")),),
        )
    },
    gpu_hca=Level.PIX,
)
EXAMPLE_TEXT = (
    '{"v":1,"node":"e01-cn-0001","numas":[0],"policy":"SingleNUMANode","reached":{"width":1,"gpu-hca":"PIX"},'
    '"containers":{"example":{"cpus":"0-11,48-59","gpus":[{"uuid":"GPU-1","pci":"0000:3b:00.0"}],'
    '"hcas":[{"name":"mlx5_0","pci":"0000:3a:00.0"}]}}}'
)


def test_the_annotation_is_compact_and_begins_with_its_version() -> None:
    assert encode(EXAMPLE) == EXAMPLE_TEXT


def test_the_annotation_is_read_back() -> None:
    assert decode(EXAMPLE_TEXT, "annotation") == EXAMPLE


def test_charges_and_bound_memory_are_carried() -> None:
    charge = NumaCharge(NumaId(3), 1500, 2**30, (Hugepages(2**21, 4), Hugepages(2**30, 1)))
    allocation = Allocation(
        NodeName("n"), (NumaId(1), NumaId(3)), Policy.NONE, 2, {}, charges=(charge,), binds_memory=True
    )
    text = encode(allocation)
    assert '"mems":"1,3"' in text
    assert '"charges":[{"numa":3,"cpu_milli":1500,"memory_bytes":1073741824,"hugepages":{"2Mi":4,"1Gi":1}}]' in text
    assert decode(text, "annotation") == allocation


names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=12)
addresses = st.builds(
    lambda domain, bus, device, function: parse_pci_address(f"{domain:04x}:{bus:02x}:{device:02x}.{function}"),
    st.integers(0, 0xFFFFF),
    st.integers(0, 255),
    st.integers(0, 31),
    st.integers(0, 7),
)
counts = st.integers(0, 2**50)
shares = st.builds(
    ContainerShare,
    cpus=st.builds(CpuSet.of, st.sets(st.integers(0, 4095), max_size=40)),
    gpus=st.lists(st.builds(GpuRef, addresses, st.none() | names.map(GpuUuid)), max_size=4).map(tuple),
    hcas=st.lists(st.builds(HcaRef, names.map(HcaName), st.none() | addresses), max_size=4).map(tuple),
)
pages = st.dictionaries(st.sampled_from([2**12, 2**16, 2**21, 2**30]), counts, max_size=2).map(
    lambda amounts: tuple(Hugepages(size, count) for size, count in sorted(amounts.items()))
)
allocations = st.builds(
    Allocation,
    node=names.map(NodeName),
    numas=st.sets(st.integers(0, 300).map(NumaId), max_size=8).map(lambda ids: tuple(sorted(ids))),
    policy=st.sampled_from(Policy),
    width=st.integers(1, 17),
    containers=st.dictionaries(names.map(ContainerName), shares, max_size=3),
    charges=st.lists(st.builds(NumaCharge, st.integers(0, 300).map(NumaId), counts, counts, pages), max_size=3).map(
        tuple
    ),
    gpu_hca=st.none() | st.sampled_from(Level),
    binds_memory=st.booleans(),
)


@given(allocations)
def test_every_allocation_comes_back_as_it_was(allocation: Allocation) -> None:
    text = encode(allocation)
    assert decode(text, "annotation") == allocation
    assert encode(decode(text, "annotation")) == text
    assert text.startswith('{"v":1,')


def changed(**fields: object) -> dict[str, Any]:
    """The example's document with some fields changed; a field set to `...` is left out."""
    document = {**json.loads(EXAMPLE_TEXT), **fields}
    return {key: value for key, value in document.items() if value is not ...}


BROKEN = [
    (changed(v=2), "v: found 2; expected version 1"),
    (changed(v=True), "v: found true; expected version 1"),
    (changed(v="1"), "v: found '1'; expected version 1"),
    (changed(v=...), "v: found nothing; expected version 1"),
    (changed(node=...), "node: found nothing"),
    (changed(node=""), "expected the name of a node"),
    (changed(colour="red"), "found the unknown field 'colour'"),
    (changed(numas=[1, 0]), "numas: found '[1, 0]'; expected rising NUMA ids"),
    (changed(numas=[0, 0]), "expected rising NUMA ids"),
    (changed(numas=[-1]), "expected rising NUMA ids"),
    (changed(numas=["0"]), "numas[0]: found text '0'; expected a whole number"),
    (changed(policy="single"), "policy: found 'single'; expected SingleNUMANode"),
    (changed(reached={"width": 0}), "a width of at least 1"),
    (changed(reached={"width": 1, "gpu-hca": "NEAR"}), "reached.gpu-hca: found 'NEAR'; expected NV, PIX"),
    (changed(reached={"width": 1, "gpu_hca": "PIX"}), "reached: found the unknown field 'gpu_hca'"),
    (changed(mems="1"), "mems: found '1'; expected '0', the same as numas"),
    (changed(containers={"a": {"cpus": "3-1"}}), "containers['a']: CPU list: found '3-1'"),
    (changed(containers={"a": {"gpus": [{"pci": "x"}]}}), "containers['a']: PCI address: found 'x'"),
    (changed(containers={"a": {"gpus": [{"index": 0}]}}), "gpus[0]"),
    (changed(containers={"a": {"hcas": [{"pci": "0000:3a:00.0"}]}}), "hcas[0].name: found nothing"),
    (changed(charges=[{"numa": 0, "cpu_milli": -1}]), "charges: found an amount below 0"),
    (changed(charges=[{"numa": 0, "cpu_milli": 10**400}]), "charges: found an amount beyond 2^63"),
    (changed(charges=[{"numa": 0, "hugepages": {"2MB": 1}}]), "hugepages: found '2MB'; expected a page size"),
    ([], "found a list; expected a mapping"),
]


@pytest.mark.parametrize(("document", "sentence"), BROKEN, ids=[sentence[:50] for _, sentence in BROKEN])
def test_what_is_not_this_version_is_refused_by_name(document: object, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        decode(json.dumps(document), "annotation")
    assert sentence in str(raised.value)
    assert str(raised.value).startswith("annotation")


@pytest.mark.parametrize("text", ["", "{", "null", "x" * 300_000, "[" * 100_000, "\ud800", '{"v":NaN}', '{"v":1}x'])
def test_text_that_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(InputError) as raised:
        decode(text, "annotation")
    assert len(str(raised.value)) < 300

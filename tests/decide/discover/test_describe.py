"""A described machine is written as files that discovery reads as the same machine."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.adapters.sysfs import read_tree
from numaplace.decide.discover import assemble
from numaplace.decide.discover.describe import Description, tree_of
from numaplace.decide.discover.describe_cards import GpuCard, HcaCard, HostBridge, NetworkCard, Rdma, Switch
from numaplace.decide.discover.describe_regular import description_of, with_devices
from numaplace.decide.discover.describe_shape import Numbering, Shape, processors_of
from numaplace.model.devices import Port
from numaplace.model.ids import NumaId
from numaplace.model.proximity import Level
from numaplace.model.topology import HugepagePool, Topology
from tests.properties.effort import examples
from tests.recorded import recorded_files

PORTS = st.builds(
    Port,
    number=st.just(1),
    active=st.booleans(),
    link_layer=st.sampled_from(["InfiniBand", "Ethernet"]),
    link_gbps=st.sampled_from([None, 2.5, 100.0, 400.0]),
)
GPUS = st.builds(
    GpuCard,
    vendor=st.sampled_from(["10de", "1002", "8086"]),
    model=st.sampled_from(["", "NVIDIA H100 80GB HBM3"]),
    mig=st.booleans(),
    fault=st.sampled_from(["", "fell off the bus"]),
)
HCAS = st.builds(
    HcaCard,
    devices=st.lists(st.builds(Rdma, ports=st.tuples(PORTS)), min_size=1, max_size=2).map(tuple),
    fault=st.sampled_from(["", "loses packets"]),
)
CARDS = GPUS | HCAS | st.builds(NetworkCard)
THINGS = st.recursive(
    CARDS, lambda below: st.builds(Switch, st.lists(below, min_size=1, max_size=3).map(tuple)), max_leaves=6
)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    packages = draw(st.integers(1, 3))
    numas = packages * draw(st.integers(1, 3))
    threads = draw(st.sampled_from([1, 2, 4]))
    pages = draw(st.integers(0, 3))
    return Shape(
        packages=packages,
        numas=numas,
        cpus=numas * threads * draw(st.integers(2, 4)),
        threads=threads,
        numbering=draw(st.sampled_from(list(Numbering))),
        llcs_a_numa=draw(st.integers(1, 2)),
        memory_bytes=draw(st.sampled_from([0, numas << 30, None])) if not pages else None,
        hugepages=(HugepagePool(2 << 20, pages, pages),) if pages else (),
        gpus=draw(st.integers(0, 9)),
        hcas=draw(st.integers(0, 9)),
        level=draw(st.sampled_from([Level.PIX, Level.PXB, Level.PHB, Level.NODE])),
        links=draw(st.integers(0, 18)),
    )


def read_back(machine: Topology) -> Topology:
    return assemble(tree_of(Description(machine))).topology


@given(shapes())
@settings(max_examples=examples(60))
def test_a_regular_machine_comes_back(shape: Shape) -> None:
    description = description_of(shape)
    found = assemble(tree_of(description))
    assert found.topology == description.claimed
    assert found.findings == ()


@given(shapes(), st.lists(st.tuples(st.integers(0, 8), st.lists(THINGS, max_size=3), st.booleans()), max_size=3))
@settings(max_examples=examples(60))
def test_irregular_wiring_comes_back(shape: Shape, places: list[tuple[int, list[Switch], bool]]) -> None:
    processors = processors_of(shape)
    homes = [numa.id for numa in processors.numas]
    bridges = [HostBridge(homes[home % len(homes)], tuple(things), flat) for home, things, flat in places]
    machine = with_devices(processors, bridges, shape.links)
    assert read_back(machine) == machine


@pytest.mark.parametrize("file", recorded_files("hwloc/snapshots/*/*.tar.bz2"))
def test_a_recorded_machine_can_be_written_down_again(file: Path) -> None:
    machine = assemble(read_tree(file)).topology
    assert read_back(machine) == machine


def test_devices_that_tell_no_domain_stay_unknown_among_several() -> None:
    processors = processors_of(Shape(packages=2))
    machine = with_devices(processors, [HostBridge(None, (GpuCard(), HcaCard()))])
    assert {gpu.numa for gpu in read_back(machine).gpus} == {None}
    assert read_back(machine) == machine


def test_no_address_is_given_twice_even_on_hundreds_of_buses() -> None:
    switches = tuple(Switch(tuple(GpuCard() for _ in range(8))) for _ in range(8))
    machine = with_devices(processors_of(Shape()), [HostBridge(NumaId(0), switches) for _ in range(4)])
    assert len({function.address for function in machine.pci}) == len(machine.pci)
    assert len({function.address[:4] for function in machine.pci}) > 1  # one PCI domain has 256 buses only
    assert read_back(machine) == machine

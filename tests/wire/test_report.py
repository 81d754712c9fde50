"""Reports of agents: what is read, what is refused, and what belongs to somebody else."""

import pytest

from numaplace.model.cpuset import CpuSet
from numaplace.model.errors import InputError
from numaplace.model.ids import PodUid
from numaplace.wire import topology as topology_wire
from numaplace.wire.machine import machine
from numaplace.wire.nodes import Attribute, ReportObject
from numaplace.wire.pod_object import Metadata
from numaplace.wire.report import renewed_s, report_of, texts_of

TOPOLOGY = topology_wire.encode(machine("2pkg 2numa 8cpu")).decode()


def report(renewed: str | None = None, **attributes: str) -> ReportObject:
    listed = [Attribute(f"numaplace.dev/{name.replace('_', '-')}", text) for name, text in attributes.items()]
    annotations = None if renewed is None else {"numaplace.dev/renewed": renewed}
    return ReportObject(Metadata(name="n1", annotations=annotations), listed)


def test_topology_reserve_and_use_are_read() -> None:
    found = report_of(report(topology=TOPOLOGY, reserved="0-1", in_use='{"uid-1": {"cpus": "2-3"}, "uid-2": {}}'))
    assert found is not None
    assert (found.node, found.topology) == ("n1", machine("2pkg 2numa 8cpu"))
    assert (found.reserved, found.in_use) == (CpuSet.parse("0-1"), frozenset({PodUid("uid-1"), PodUid("uid-2")}))


def test_what_an_agent_does_not_say_is_told_from_nothing() -> None:
    found = report_of(report(topology=TOPOLOGY))
    assert found is not None
    assert (found.reserved, found.in_use) == (CpuSet(), None)


def test_an_object_of_another_program_is_no_report() -> None:
    assert report_of(report()) is None
    assert report_of(ReportObject(Metadata(name="n1"))) is None


@pytest.mark.parametrize(
    ("attributes", "complaint"),
    [
        ({"topology": "{}"}, "report n1: numaplace.dev/topology: v: found"),
        ({"topology": "no JSON"}, "report n1: numaplace.dev/topology: found 'no JSON'"),
        ({"topology": TOPOLOGY, "reserved": "x-y"}, "report n1: numaplace.dev/reserved: "),
        ({"topology": TOPOLOGY, "in_use": "[]"}, "report n1: numaplace.dev/in-use: "),
        ({"topology": TOPOLOGY, "in_use": "{"}, "report n1: numaplace.dev/in-use: found '{'"),
    ],
)
def test_what_is_broken_is_named(attributes: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        report_of(report(**attributes))
    assert str(caught.value).startswith(complaint)


def test_the_time_of_an_agent_is_read() -> None:
    assert renewed_s(report()) is None
    assert renewed_s(report(renewed="1970-01-01T00:01:00Z")) == 60.0
    with pytest.raises(InputError, match=r"report n1: annotation numaplace.dev/renewed: found 'soon'"):
        renewed_s(report(renewed="soon"))


def test_reports_that_differ_in_nothing_that_is_read_are_equal() -> None:
    assert texts_of(report(renewed="1970-01-01T00:01:00Z", topology="t")) == texts_of(report(topology="t", other="x"))
    assert texts_of(report(topology="t")) != texts_of(report(topology="t", in_use="{}"))


def test_what_a_pod_in_use_owns_is_read_and_other_fields_are_the_agents_matter() -> None:
    text = '{"a": {"cpus": "2-3", "gpus": ["0000:3B:00.0"], "hcas": ["mlx5_1"], "since": 5}, "b": {}}'
    found = report_of(report(topology=TOPOLOGY, in_use=text))
    assert found is not None
    (allocation,) = found.found.values()
    assert [*found.found] == ["a"]
    assert (allocation.node, str(allocation.cpus)) == ("n1", "2-3")
    assert [gpu.pci for gpu in allocation.gpus] == ["0000:3b:00.0"]
    assert [hca.name for hca in allocation.hcas] == ["mlx5_1"]


@pytest.mark.parametrize("uses", ['{"cpus": "3-2"}', '{"gpus": ["3b"]}', '{"gpus": "0000:3b:00.0"}'])
def test_a_use_that_cannot_be_read_is_named(uses: str) -> None:
    with pytest.raises(InputError, match=r"report n1: numaplace\.dev/in-use"):
        report_of(report(topology=TOPOLOGY, in_use=f'{{"uid-1": {uses}}}'))

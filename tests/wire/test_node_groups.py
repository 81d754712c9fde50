"""A nodes file: what it says becomes nodes, and what is wrong in it becomes one sentence with the place."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.errors import InputError
from numaplace.model.layout import AlignLevel
from numaplace.model.rules import Taint
from numaplace.wire.node_groups import decode_groups

FULL = """
nodes:
- name: gpu-##
  count: 2
  machine: 2pkg 32cpu 64GiB 4gpu
  labels: {zone: a}
  taints: [{key: gpu, value: "yes", effect: NoSchedule}]
  cordoned: true
  reserved: 0,16
  allocatable: {cpu: 30, memory: 60Gi}
  align-level: package
  max-pods: 20
- name: one
  machine: {like: lingjun, note: a mapping of facts}
"""


def test_every_field_is_read() -> None:
    many, one = decode_groups(FULL, "nodes.yaml")
    assert many.names == ("gpu-01", "gpu-02")
    assert many.labels == {"zone": "a"}
    assert many.taints == (Taint("gpu", "yes", "NoSchedule"),)
    assert (many.cordoned, str(many.reserved), many.align, many.max_pods) == (True, "0,16", AlignLevel.PACKAGE, 20)
    assert many.allocatable_milli == {"cpu": 30_000, "memory": 60 * 1000 * (1 << 30)}
    assert len(one.machine.topology.gpus) == 8


@pytest.mark.parametrize(
    ("written", "numbered"),
    [("n-#", ("n-1", "n-11")), ("n-###", ("n-001", "n-011")), ("#", ("1", "11")), ("a-#-b", ("a-1-b", "a-11-b"))],
)
def test_a_run_of_hashes_is_the_number(written: str, numbered: tuple[str, str]) -> None:
    (group,) = decode_groups(f'nodes: [{{name: "{written}", count: 11, machine: 1pkg}}]', "nodes.yaml")
    assert (group.names[0], group.names[-1]) == numbered


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "nodes.yaml: found no nodes; expected a mapping with the key nodes"),
        ("nodes: []", "nodes.yaml: found no nodes"),
        ("[]", "nodes.yaml: document 1"),
        ("nodes: [{machine: 1pkg}]", "nodes[0].name: found nothing"),
        ("nodes: [{name: a}]", "nodes[0].machine: found nothing"),
        ("nodes: [{name: a, machine: 1pkg, colour: red}]", "nodes[0]: found the unknown field 'colour'"),
        ("nodes: [{name: a, machine: 1pkg, count: 2}]", "nodes[0].name: found 'a'; expected one run of #"),
        ("nodes: [{name: a-#-#, machine: 1pkg}]", "nodes[0].name: found 'a-#-#'; expected one run of #"),
        ("nodes: [{name: a, machine: 1pkg, count: 0}]", "nodes[0].count: found 0; expected 1..100000"),
        ("nodes: [{name: A, machine: 1pkg}]", "nodes[0].name: found 'A'; expected a node name"),
        ("nodes: [{name: a, machine: 1pig}]", "nodes[0].machine"),
        (
            "nodes: [{name: a, machine: 1pkg 4cpu, reserved: 0-9}]",
            "nodes[0].reserved: found '0-9'; expected CPUs of the machine, 0-3",
        ),
        ("nodes: [{name: a, machine: 1pkg, reserved: x}]", "nodes[0].reserved"),
        ("nodes: [{name: a, machine: 1pkg, taints: [{key: k, effect: Never}]}]", "taints[0].effect: found 'Never'"),
        (
            "nodes: [{name: a, machine: 1pkg, align-level: socket}]",
            "align-level: found 'socket'; expected numa or package",
        ),
        ("nodes: [{name: a, machine: 1pkg, allocatable: {cpu: many}}]", "nodes[0].allocatable['cpu']: found 'many'"),
        ("nodes: [{name: a, machine: 1pkg, max-pods: -1}]", "nodes[0].max-pods: found -1"),
        ("nodes: [{name: a, machine: 1pkg}, {name: a, machine: 1pkg}]", "found the node a twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as raised:
        decode_groups(text, "nodes.yaml")
    assert complaint in str(raised.value)
    assert str(raised.value).startswith("nodes.yaml")


@given(st.integers(0, len(FULL)), st.integers(0, 12), st.text(max_size=12))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(start: int, length: int, put: str) -> None:
    text = FULL[:start] + put + FULL[start + length :]
    with suppress(InputError):
        decode_groups(text, "nodes.yaml")

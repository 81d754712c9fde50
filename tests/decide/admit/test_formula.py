"""How much a whole Pod asks, against the Kubernetes formula and examples of its documentation."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.decide.admit.formula import effective
from numaplace.model.ids import ContainerName, PodUid
from numaplace.model.pod import Container, Pod
from numaplace.model.request import ContainerKind
from tests.objects import OURS, admitted, container, sidecar

INIT, SIDECAR, APP = ContainerKind.INIT, ContainerKind.SIDECAR, ContainerKind.APP
Row = tuple[ContainerKind, int]


def pod_of(rows: Sequence[Row]) -> Pod:
    containers = tuple(
        Container(ContainerName(f"c{index}"), kind, {"x": amount}) for index, (kind, amount) in enumerate(rows)
    )
    return Pod(PodUid("u"), "ns", "p", containers)


def most_at_one_time(rows: Sequence[Row]) -> int:
    """Play the Pod's life and look at what runs at each moment."""
    running, peak = 0, 0
    for kind, amount in rows:
        peak = max(peak, running + amount)
        if kind is not INIT:
            running += amount
    return peak


@pytest.mark.parametrize(
    ("rows", "amount"),
    [
        ([(APP, 2), (APP, 3)], 5),
        ([(INIT, 4), (APP, 2)], 4),
        ([(INIT, 4), (INIT, 6), (APP, 5)], 6),
        ([(SIDECAR, 1), (APP, 5)], 6),
        ([(SIDECAR, 1), (INIT, 6), (APP, 5)], 7),  # the init container runs beside the sidecar
        ([(INIT, 6), (SIDECAR, 1), (APP, 5)], 6),  # and here before it
        ([(INIT, 1), (SIDECAR, 2), (INIT, 3), (SIDECAR, 4), (APP, 1)], 7),
    ],
)
def test_the_formula_counts_what_runs_at_one_time(rows: list[Row], amount: int) -> None:
    assert effective(pod_of(rows), lambda one: one.request_milli("x")) == amount


@given(
    st.lists(st.tuples(st.sampled_from([INIT, SIDECAR]), st.integers(0, 9)), max_size=6),
    st.lists(st.tuples(st.just(APP), st.integers(0, 9)), min_size=1, max_size=3),
)
def test_the_formula_is_the_peak_of_the_pods_life(first: list[Row], apps: list[Row]) -> None:
    rows = [*first, *apps]
    assert effective(pod_of(rows), lambda one: one.request_milli("x")) == most_at_one_time(rows)


def test_devices_and_memory_follow_the_formula_and_overhead_is_added() -> None:
    request = admitted(
        container("app", {"aliyun.com/gpu": 2, "memory": "2Gi", "cpu": "1500m"}),
        init=(container("warm", {"aliyun.com/gpu": 4, "memory": "1Gi"}), sidecar("proxy", {"memory": "1Gi"})),
        overhead={"cpu": "250m", "memory": "100"},
    )
    assert [one.gpus for one in request.containers] == [4, 0, 2]
    assert (request.gpus, request.memory_bytes, request.shared_cpu_milli) == (4, 3 * 2**30 + 100, 1750)
    assert request.rules.amounts.cpu_milli == 1750
    assert request.rules.amounts.others == {"aliyun.com/gpu": 4}


def test_exclusive_cpus_are_those_of_app_containers_and_sidecars() -> None:
    request = admitted(
        container("app", {"cpu": 4}),
        init=(container("warm", {"cpu": 16}), sidecar("proxy", {"cpu": 2})),
        annotations=OURS,
        overhead={"cpu": "250m"},
    )
    assert request.cpus == 6
    assert [one.cpus for one in request.containers] == [0, 2, 4]
    assert request.shared_cpu_milli == 250
    assert request.rules.amounts.cpu_milli == 16_250


def test_every_resource_counts_at_node_level() -> None:
    amounts = admitted(container(limits={"ephemeral-storage": "1Gi", "example.com/fpga": 3, "memory": "1500m"})).rules
    assert amounts.amounts.others == {"ephemeral-storage": 2**30, "example.com/fpga": 3}
    assert amounts.amounts.memory_bytes == 2

"""The kubelet on paper follows the facts of docs/explanation/kubelet-model.md, one case each."""

import pytest

from numaplace.model.allocation import Allocation
from numaplace.model.cluster import NodeState
from numaplace.model.settings import Settings
from numaplace.tools.sim.arrivals import Arrival, intake_of
from numaplace.tools.sim.kubelet import (
    TOPOLOGY_AFFINITY_ERROR,
    Failure,
    is_guaranteed,
    start_with_managers,
    start_without_managers,
    take_packed,
)
from numaplace.wire.machine import machine
from numaplace.wire.pod import decode
from tests.tools.paper import arrivals, run, small_cluster

SETTINGS = Settings()


def container(cpu: str, gpus: int = 0, memory: str | None = "1Gi", request_cpu: str | None = None) -> dict[str, object]:
    limits: dict[str, object] = {"cpu": cpu, "aliyun.com/gpu": gpus}
    if memory:
        limits["memory"] = memory
    return {"resources": {"limits": limits, "requests": {**limits, "cpu": request_cpu or cpu}}}


def arrival(*containers: dict[str, object], init: tuple[dict[str, object], ...] = ()) -> Arrival:
    def named(kind: str, members: tuple[dict[str, object], ...]) -> list[dict[str, object]]:
        return [{"name": f"{kind}{i}", **one} for i, one in enumerate(members)]

    thing = {
        "metadata": {"name": "pod"},
        "spec": {"containers": named("c", containers), "initContainers": named("i", init)},
    }
    (one,) = intake_of([(decode(thing, "pod.yaml"), 0.0, None)], SETTINGS).arrivals
    return one


def only_node(state_of: str = "2pkg 32cpu 64GiB 4gpu") -> NodeState:
    (node,) = small_cluster(machine=state_of).nodes.values()
    return node


def managed(one: Arrival, node: NodeState) -> Allocation | Failure:
    return start_with_managers(node, one.pod, one.request, SETTINGS)


def test_of_several_domains_that_fit_the_lowest_id_is_taken() -> None:
    answer = managed(arrival(container("4", gpus=1)), only_node())
    assert isinstance(answer, Allocation)
    assert (answer.numas, str(answer.cpus)) == ((0,), "0-1,16-17")


def test_cards_come_in_the_order_of_their_addresses() -> None:
    node = only_node()
    assert node.topology is not None
    answer = managed(arrival(container("2", gpus=2)), node)
    assert isinstance(answer, Allocation)
    assert [gpu.pci for gpu in answer.gpus] == [gpu.pci for gpu in node.topology.gpus[:2]]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param(container("17"), TOPOLOGY_AFFINITY_ERROR, id="more CPUs than one domain has"),
        pytest.param(container("1", gpus=3), TOPOLOGY_AFFINITY_ERROR, id="more GPUs than one domain has"),
        pytest.param(container("1500m", gpus=3), TOPOLOGY_AFFINITY_ERROR, id="GPUs alone, CPUs not a whole number"),
    ],
)
def test_what_no_single_domain_has_fails_for_good(asked: dict[str, object], reason: str) -> None:
    assert managed(arrival(asked), only_node()) == Failure(reason)


def test_cpus_and_gpus_that_are_free_in_different_domains_fail_though_the_node_has_both() -> None:
    pods = arrivals(
        "name,arrives_s,cpu,memory,gpu",
        "cpus-of-0,0,16,1Gi,0",
        "gpus-of-1,1,2,1Gi,2",
        "late,2,2,1Gi,1",
    )
    outcome = run(small_cluster(machine="2pkg 32cpu 64GiB 4gpu"), pods, "kubelet")
    assert [one.allocation.numas for one in outcome.landings if one.allocation] == [(0,), (1,)]
    assert outcome.failures == {TOPOLOGY_AFFINITY_ERROR: 10}


@pytest.mark.parametrize(
    ("containers", "guaranteed"),
    [
        pytest.param((container("2"),), True, id="limits equal requests"),
        pytest.param((container("2", memory=None),), False, id="no memory limit"),
        pytest.param((container("2", request_cpu="1"),), False, id="less CPU requested than limited"),
        pytest.param((container("2"), container("1", memory=None)), False, id="one container spoils it for all"),
    ],
)
def test_only_guaranteed_pods_own_cpus(containers: tuple[dict[str, object], ...], guaranteed: bool) -> None:
    one = arrival(*containers)
    answer = managed(one, only_node())
    assert is_guaranteed(one.pod) is guaranteed
    assert isinstance(answer, Allocation)
    assert bool(answer.cpus) is guaranteed


def test_a_fraction_of_a_cpu_is_never_owned() -> None:
    answer = managed(arrival(container("1500m", gpus=1)), only_node())
    assert isinstance(answer, Allocation)
    assert not answer.cpus
    assert len(answer.gpus) == 1


def test_containers_of_one_pod_may_end_up_in_different_domains() -> None:
    answer = managed(arrival(container("10", gpus=1), container("10", gpus=1)), only_node())
    assert isinstance(answer, Allocation)
    assert (answer.numas, answer.width) == ((0, 1), 2)


def test_what_an_init_container_had_is_there_for_the_next() -> None:
    answer = managed(arrival(container("16", gpus=2), init=(container("16", gpus=2),)), only_node())
    assert isinstance(answer, Allocation)
    assert answer.numas == (0,)


def test_cards_without_a_domain_have_no_opinion() -> None:
    node = only_node("2pkg 32cpu 64GiB 4gpu phb numa-unknown")
    answer = managed(arrival(container("1500m", gpus=3)), node)
    assert isinstance(answer, Allocation)
    assert len(answer.gpus) == 3


def test_more_than_eight_domains_are_too_many_for_it() -> None:
    pods = arrivals("name,arrives_s,cpu,memory", "pod,0,1,1Gi")
    outcome = run(small_cluster(machine="2pkg 16numa 64cpu 64GiB"), pods, "kubelet")
    assert outcome.landings == ()
    assert sum(outcome.failures.values()) == 10


@pytest.mark.parametrize(
    ("free", "count", "taken"),
    [
        pytest.param("0-31", 4, "0-1,16-17", id="whole cores by rising id"),
        pytest.param("1-15,17-31", 2, "1,17", id="a missing core is passed over"),
        pytest.param("0-31", 3, "0-1,16", id="the odd one is a single thread"),
        pytest.param("0-15,17-31", 3, "0-1,17", id="the odd one comes from a core that is already broken"),
        pytest.param("0-15", 3, "0-2", id="single threads where no core is whole"),
        pytest.param("0-1", 3, "0-1", id="fewer than asked if there are no more"),
    ],
)
def test_the_static_policy_packs_cores(free: str, count: int, taken: str) -> None:
    topology = machine("1pkg 32cpu")
    bits = type(topology.online).parse(free).bits
    assert str(type(topology.online)(take_packed(topology, bits, count))) == taken


def test_without_managers_cards_come_in_order_and_cpus_float() -> None:
    node = only_node()
    one = arrival(container("4", gpus=3))
    answer = start_without_managers(node, one.pod, one.request, SETTINGS)
    assert isinstance(answer, Allocation)
    assert (len(answer.gpus), str(answer.cpus), answer.numas) == (3, "", (0, 1))


def test_a_bare_pod_that_fails_is_not_made_again() -> None:
    one = arrival(container("17"))
    outcome = run(small_cluster(2, "2pkg 32cpu 64GiB 4gpu"), [one], "kubelet")
    assert outcome.failures == {TOPOLOGY_AFFINITY_ERROR: 1}


def test_a_controller_makes_pods_again_until_the_run_gives_up() -> None:
    pods = arrivals("name,arrives_s,cpu,memory", "wide,0,17,1Gi")
    outcome = run(small_cluster(2, "2pkg 32cpu 64GiB 4gpu"), pods, "kubelet")
    assert outcome.failures == {TOPOLOGY_AFFINITY_ERROR: 10}
    assert [one.name for one in outcome.unplaced] == ["default/wide"]

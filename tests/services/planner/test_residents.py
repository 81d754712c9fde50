"""Whose node is asked after: where a Pod is, and where it can only go."""

from dataclasses import replace

from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod
from numaplace.services.planner.residents import Residents
from tests.objects import admitted

A, B = NodeName("a"), NodeName("b")
POD = LivePod(PodUid("p"), "ns", "p", admitted())


def where(residents: Residents) -> list[NodeName]:
    return [name for name in (A, B) if POD.uid in residents.on(name)]


def test_a_pod_is_found_on_its_node_and_where_it_is_sent() -> None:
    residents, found = Residents(), []
    for pod in (POD, replace(POD, hint=B), replace(POD, hint=B, node=A), replace(POD, node=A), POD):
        residents.put(pod)
        found.append(where(residents))
    assert found == [[], [B], [A, B], [A], []]


def test_a_pod_that_is_gone_is_found_nowhere() -> None:
    residents = Residents()
    residents.put(replace(POD, hint=B, node=A))
    residents.forget(POD.uid)
    residents.forget(POD.uid)
    assert where(residents) == []

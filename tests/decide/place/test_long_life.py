"""An index that lives long forgets its log of changes, and nothing that matters."""

from numaplace.decide.place import NodeIndex, Placement, plan_with
from numaplace.model.cluster import ClusterState
from tests.decide.place.test_hold_back import index, pod


def test_answers_do_not_depend_on_how_much_of_the_past_is_remembered() -> None:
    fresh = index("a", "b", "c")
    state = ClusterState(fresh.nodes)
    forgetful = NodeIndex(state, fresh.settings, log_entries=2)
    pods = [pod(number, gpus=1 + number % 4) for number in range(12)]
    ours, theirs = plan_with(forgetful, pods), plan_with(fresh, pods)
    assert [one.answer for one in ours] == [one.answer for one in theirs]
    assert any(isinstance(one.answer, Placement) for one in ours)
    assert forgetful.nodes == fresh.nodes

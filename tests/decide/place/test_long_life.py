"""An index that lives long forgets its log of changes, and nothing that matters."""

from numaplace.decide.place import NodeIndex, Placement, plan_with
from numaplace.model.cluster import ClusterState
from numaplace.model.ids import NodeName
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


def test_nodes_that_go_together_leave_what_an_index_without_them_knows() -> None:
    fewer, never_more = index("a", "b", "c", "d"), index("b", "d")
    assert fewer.best(pod(0, gpus=1)) is not None  # so that something is remembered of them
    fewer.remove(NodeName("a"), NodeName("c"), NodeName("nobody"))
    assert fewer.nodes.keys() == never_more.nodes.keys()
    pods = [pod(number, gpus=1 + number % 4) for number in range(1, 9)]
    ours, theirs = plan_with(fewer, pods), plan_with(never_more, pods)
    assert [one.answer for one in ours] == [one.answer for one in theirs]


def test_nothing_is_counted_anew_where_nobody_goes() -> None:
    nodes = index("a", "b", "c")
    before = nodes.rows
    nodes.remove()
    nodes.remove(NodeName("nobody"))
    assert nodes.rows is before

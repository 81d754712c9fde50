"""A report that cannot be read: its node is left alone once, however often the agent renews it."""

import msgspec
import pytest

from numaplace.model import keys
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.news import Freed
from numaplace.wire.nodes import ReportObject
from tests.cluster.nodes import report_object
from tests.services.planner.test_keeper import CLUSTER, NODES, book, keeper_told

N1 = NodeName("n1")


def report() -> ReportObject:
    return msgspec.convert(report_object(NODES[0], "uid"), ReportObject)


def broken(alive: str) -> ReportObject:
    """The report with another sign of life, and nothing that could be read."""
    found = report()
    found.metadata.annotations = {keys.RENEWED: alive}
    for one in found.attributes or ():
        one.value = "no topology" if one.name == keys.TOPOLOGY else one.value
    return found


def freed(keeper: Keeper) -> list[frozenset[NodeName]]:
    return [news.nodes for news in keeper.news() if isinstance(news, Freed)]


def test_a_report_that_stays_broken_empties_its_node_once() -> None:
    keeper = keeper_told(CLUSTER, len(CLUSTER))
    keeper.news()
    told = []
    for second in range(3):
        with pytest.raises(InputError):
            keeper.nodes.see_report(N1, broken(f"2026-01-01T00:00:0{second}Z"))
        told.append(freed(keeper))
    assert told == [[{N1}], [], []]
    state = keeper.node(N1)
    assert state is not None
    assert state.topology is None
    keeper.nodes.see_report(N1, report())
    assert book(keeper) == book(keeper_told(CLUSTER, len(CLUSTER)))


def test_a_report_that_goes_twice_empties_its_node_once() -> None:
    keeper = keeper_told(CLUSTER, len(CLUSTER))
    keeper.news()
    told = []
    for _ in range(2):
        keeper.nodes.lose_report(N1)
        told.append(freed(keeper))
    assert told == [[{N1}], []]

"""Events that come late or twice: the book never goes back to what it knew before."""

import pytest

from numaplace.decide.place import place_on
from numaplace.decide.track import Event, NodeSeen, PodBound, PodEnded, PodGranted, PodHeld, ReportArrived, reduce
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState, Phase
from numaplace.model.refusal import Refusal
from tests.oracle.described import Shape, topology_of
from tests.oracle.pods import NODE, ask, node_of

REQUEST = ask(cpus=2)
EMPTY = node_of(Shape())


def placed() -> Allocation:
    answer = place_on(EMPTY, REQUEST)
    assert not isinstance(answer, Refusal)
    return answer.allocation


HELD, GRANTED = PodHeld(REQUEST, placed()), PodGranted(REQUEST, placed())
BOUND, ENDED = PodBound(REQUEST, NODE), PodEnded(REQUEST.uid, NODE, 7.0)


@pytest.mark.parametrize(
    ("events", "phase", "owns"),
    [
        ((HELD, GRANTED), Phase.GRANTED, True),
        ((HELD, GRANTED, HELD), Phase.GRANTED, True),
        ((GRANTED, ENDED, GRANTED), Phase.RELEASING, True),
        ((GRANTED, ENDED, HELD, BOUND), Phase.RELEASING, True),
        ((GRANTED, BOUND), Phase.GRANTED, True),
        ((BOUND, GRANTED), Phase.GRANTED, True),
        ((HELD, BOUND), Phase.GRANTED, False),
    ],
)
def test_a_pod_keeps_the_latest_that_was_known_of_it(events: tuple[Event, ...], phase: Phase, owns: bool) -> None:
    state = ClusterState()
    for event in (NodeSeen(NODE, EMPTY.rules), ReportArrived(NODE, topology_of(Shape())), *events):
        after = reduce(state, event)
        assert isinstance(after, ClusterState)
        state = after
    holder = state.nodes[NODE].holders[REQUEST.uid]
    assert (holder.phase, holder.allocation is not None) == (phase, owns)

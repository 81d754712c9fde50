"""The queue of those who wait: order, one try a shape, and nothing for who stays refused."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.news import Freed, Joined
from numaplace.services.planner.waiting import FRESH, Waiting
from tests.objects import OURS, admitted, container
from tests.properties.pods import renamed

STEPS = ("add", "remove", "wake", "refuse")
ONE, OTHER = frozenset((NodeName("n1"),)), frozenset((NodeName("n2"),))
SHORT, NOT_ALIGNABLE = Refusal(Code.GPUS_SHORT, "too few"), Refusal(Code.NOT_ALIGNABLE, "too far")


def pod(name: str, *, gpus: int = 1, **more: Any) -> PodRequest:
    limits = {"cpu": "2", "aliyun.com/gpu": str(gpus)}
    return renamed(admitted(container(limits=limits), annotations=OURS, **more), name)


def drain(waiting: Waiting, refusal: Refusal = SHORT) -> list[str]:
    """Refuse everyone who is due; who was tried, in order."""
    tried = []
    while (request := waiting.next()) is not None:
        tried.append(request.name)
        waiting.refused(request, refusal)
    return tried


def test_of_many_who_ask_alike_one_is_tried() -> None:
    waiting = Waiting()
    for number in range(5000):
        waiting.add(pod(f"p{number:04}"))
    assert drain(waiting) == ["p0000"]
    waiting.wake(ONE)
    assert drain(waiting) == ["p0000"]
    assert len(waiting) == 5000


def test_who_comes_behind_one_that_was_refused_gets_the_same_answer_untried() -> None:
    waiting = Waiting()
    waiting.add(pod("a"))
    drain(waiting)
    assert waiting.add(pod("b")) is SHORT
    assert waiting.add(pod("c", gpus=2)) is None
    assert waiting.add(pod("d", priority=5)) is None  # before all of them
    assert drain(waiting) == ["d", "c"]


def test_a_refusal_is_told_to_those_to_whom_it_is_new() -> None:
    waiting = Waiting()
    for name in "ab":
        waiting.add(pod(name))

    def told(refusal: Refusal) -> list[str]:
        head = waiting.next()
        assert head is not None
        return [one.name for one in waiting.refused(head, refusal)]

    assert told(SHORT) == ["a", "b"]
    waiting.wake(ONE)
    waiting.add(pod("c"))
    assert told(SHORT) == ["c"]
    waiting.wake(ONE)
    assert told(NOT_ALIGNABLE) == ["a", "b", "c"]


def test_who_asks_something_else_is_no_longer_tried_with_those_it_was_like() -> None:
    """Nobody who is refused may stay due: that would be a loop without an end."""
    waiting = Waiting()
    for name in "abc":
        waiting.add(pod(name))
    drain(waiting)
    waiting.add(pod("b", gpus=2))
    drain(waiting)
    waiting.remove(PodUid("a"))
    waiting.wake(ONE)
    tried: list[str] = []
    while (request := waiting.next()) is not None and len(tried) < 5:
        tried.append(request.name)
        waiting.refused(request, SHORT)
    assert tried == ["b", "c"]


def test_those_behind_one_who_was_placed_are_tried_next() -> None:
    waiting = Waiting()
    for name in "abc":
        waiting.add(pod(name))
    for name in "ab":
        head = waiting.next()
        assert head is not None
        assert head.name == name
        waiting.remove(head.uid)
    assert drain(waiting) == ["c"]


def test_labels_make_no_difference_until_somebody_minds_them() -> None:
    waiting = Waiting()
    for name in "abc":
        waiting.add(pod(name, labels={"index": name}))
    assert drain(waiting) == ["a"]
    waiting.wake(ONE)
    waiting.mind_labels(True)
    assert drain(waiting) == ["a", "b", "c"]
    waiting.mind_labels(False)
    waiting.wake(ONE)
    assert drain(waiting) == ["a"]


def test_the_answers_that_pods_have_stand_when_labels_begin_or_cease_to_make_a_difference() -> None:
    waiting = Waiting()
    for name in "abc":
        waiting.add(pod(name, labels={"index": name}))
    drain(waiting)
    waiting.mind_labels(True)
    assert drain(waiting) == []
    waiting.add(pod("d", labels={"index": "d"}))
    waiting.mind_labels(False)
    assert drain(waiting) == ["a"]
    assert waiting.last(PodUid("c")) is SHORT
    waiting.mind_labels(True)
    waiting.wake(ONE)
    waiting.mind_labels(False)
    assert waiting.hopes(PodUid("b")) == ONE


def test_after_nodes_changed_a_few_at_a_time_are_asked_for_another_reason() -> None:
    waiting = Waiting()
    names = [f"p{number:02}" for number in range(FRESH + 1)]
    for number, name in enumerate(names):
        waiting.add(pod(name, gpus=number))
    drain(waiting)

    def looks() -> list[str]:
        while (request := waiting.next()) is not None and waiting.hopes(request.uid) is not None:
            waiting.spare(request)
        return drain(waiting)

    waiting.hear(Freed(ONE, (), changed=False), {})
    waiting.refresh()
    assert looks() == []
    waiting.hear(Freed(ONE, (), changed=True), {})
    assert looks() == []
    waiting.refresh()
    assert looks() == names[:-1]
    waiting.refresh()
    waiting.refresh()
    assert looks() == names[-1:]


def test_who_was_refused_hopes_for_the_nodes_that_are_freed_since_and_a_newcomer_for_any() -> None:
    waiting = Waiting()
    waiting.add(pod("a"))
    waiting.wake(ONE)
    assert waiting.hopes(PodUid("a")) is None
    drain(waiting)
    assert waiting.next() is None
    waiting.wake(ONE)
    waiting.wake(OTHER)
    assert waiting.hopes(PodUid("a")) == ONE | OTHER
    first = waiting.next()
    assert first is not None
    waiting.spare(first)
    assert waiting.next() is None
    assert waiting.answer(PodUid("a")) is SHORT


def test_a_pod_in_the_middle_that_must_leave_a_node_alone_says_nothing_of_those_before_it() -> None:
    waiting, held_back = Waiting(), Refusal(Code.HELD_BACK, "kept for another")
    first, second = pod("a"), pod("b")
    waiting.add(first)
    waiting.add(second)
    assert waiting.refused(second, held_back) == [second]
    assert waiting.next() == first
    waiting.refused(first, SHORT)
    waiting.wake(ONE)
    waiting.spare(second)
    assert waiting.next() == first


def test_a_newcomer_wakes_those_that_want_its_company_and_nobody_else() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    waiting = Waiting()
    waiting.add(pod("plain"))
    waiting.add(pod("longs", affinity=affinity))
    assert drain(waiting) == ["longs", "plain"]
    waiting.hear(Joined((pod("web", labels={"app": "web"}),)), {})
    assert drain(waiting) == []
    waiting.hear(Joined((pod("db", labels={"app": "db"}),)), {})
    assert drain(waiting) == ["longs"]
    waiting.remove(PodUid("longs"))
    waiting.hear(Joined((pod("db", labels={"app": "db"}),)), {})
    assert drain(waiting) == []


def test_one_who_leaves_gives_hope_anywhere_to_those_whom_it_kept_out() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    avoids = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    waiting = Waiting()
    waiting.mind_labels(True)
    for app in ("db", "web"):
        waiting.add(pod(app, labels={"app": app}))
    waiting.add(pod("avoids", affinity=avoids))

    def hopes(*left: PodRequest) -> list[frozenset[NodeName] | None]:
        drain(waiting)
        waiting.hear(Freed(ONE, left, changed=False), {})
        return [waiting.hopes(PodUid(name)) for name in ("db", "web", "avoids")]

    assert hopes(pod("old", labels={"app": "db"})) == [ONE, ONE, ONE]
    assert hopes(pod("old", labels={"app": "web"})) == [ONE, ONE, None]
    assert hopes(pod("guard", affinity=avoids)) == [ONE, None, ONE]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.integers(1, 2),
            st.integers(0, 2),
            st.sampled_from(["add", "remove", "wake", "refuse"]),
        ),
        max_size=30,
    )
)
def test_the_next_is_always_the_first_of_those_who_are_due(steps: list[tuple[str, int, int, str]]) -> None:
    waiting, due, refused = Waiting(), dict[str, PodRequest](), dict[str, PodRequest]()
    for name, gpus, priority, step in steps:
        request = pod(name, gpus=gpus, priority=priority)
        if step == "add":
            due.pop(name, None)
            refused.pop(name, None)
            (refused if waiting.add(request) else due)[name] = request
            if name in due:  # it made all who ask alike due
                due |= {one: refused.pop(one) for one, other in list(refused.items()) if other.gpus == gpus}
        elif step == "remove":
            waiting.remove(PodUid(name))
            due.pop(name, None)
            refused.pop(name, None)
        elif step == "wake":
            waiting.wake(ONE)
            due, refused = due | refused, {}
        elif (head := waiting.next()) is not None:
            waiting.refused(head, SHORT)
            refused |= {one: due.pop(one) for one, other in list(due.items()) if other.gpus == head.gpus}
        head = waiting.next()
        assert (head and head.name) == (min(due.values(), key=lambda one: one.order).name if due else None)

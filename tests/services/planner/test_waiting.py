"""The queue of those who wait: order, one try a shape, and nothing for who stays refused."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.ids import PodUid
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.waiting import Waiting
from tests.objects import OURS, admitted, container
from tests.properties.pods import renamed

STEPS = ("add", "remove", "wake", "refuse")
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
    waiting.wake()
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
    waiting.wake()
    waiting.add(pod("c"))
    assert told(SHORT) == ["c"]
    waiting.wake()
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
    waiting.wake()
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
    waiting.mind_labels(True)
    assert drain(waiting) == ["a", "b", "c"]
    waiting.mind_labels(True)
    assert drain(waiting) == []


def test_a_newcomer_wakes_those_that_want_its_company_and_nobody_else() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    waiting = Waiting()
    waiting.add(pod("plain"))
    waiting.add(pod("longs", affinity=affinity))
    assert drain(waiting) == ["longs", "plain"]
    waiting.welcome([pod("web", labels={"app": "web"})], {})
    assert drain(waiting) == []
    waiting.welcome([pod("db", labels={"app": "db"})], {})
    assert drain(waiting) == ["longs"]
    waiting.remove(PodUid("longs"))
    waiting.welcome([pod("db", labels={"app": "db"})], {})
    assert drain(waiting) == []


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
            waiting.wake()
            due, refused = due | refused, {}
        elif (head := waiting.next()) is not None:
            waiting.refused(head, SHORT)
            refused |= {one: due.pop(one) for one, other in list(due.items()) if other.gpus == head.gpus}
        head = waiting.next()
        assert (head and head.name) == (min(due.values(), key=lambda one: one.order).name if due else None)

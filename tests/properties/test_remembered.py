"""Answers are remembered by signature: rooms of one signature must have one answer and one score (9)."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.place.ask import ask_of
from numaplace.decide.place.choose import choose
from numaplace.decide.place.rank import parts_of
from numaplace.decide.place.room import Room, room_of
from numaplace.decide.place.signature import signature_of
from numaplace.model.request import PodRequest, Policy
from numaplace.model.settings import Settings
from tests.properties.books import WISHES, Scene, scenes
from tests.properties.effort import examples
from tests.properties.pods import asked_of

PLACES = ((0,), (1,), (2,), (0, 1), (1, 2))


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[list[Scene], PodRequest]:
    """A Pod, and one node whose last holder is gone, or sits in one numa after the other, or in two."""
    scene, wish = draw(scenes(most_holders=2)), draw(WISHES)
    last = [replace(wish, numas=numas, policy=policy) for numas in PLACES for policy in Policy]
    books = [scene.wishes, *((*scene.wishes, one) for one in last)]
    return [replace(scene, wishes=book) for book in books], draw(asked_of(scene))


@given(neighbours())
@settings(max_examples=examples(120))
def test_rooms_of_one_signature_have_one_answer(case: tuple[list[Scene], PodRequest]) -> None:
    nearly_equal, request = case
    ask = ask_of(request)
    alike: dict[Hashable, list[Room]] = defaultdict(list)
    for scene in nearly_equal:
        room = room_of(scene.node())
        alike[signature_of(room, ask)].append(room)
    for rooms in alike.values():
        choices = [choose(room, ask) for room in rooms]
        scores = [
            choice and parts_of(room, ask, choice, 0.0, Settings()) for room, choice in zip(rooms, choices, strict=True)
        ]
        assert all(choice == choices[0] for choice in choices)
        assert all(score == scores[0] for score in scores)

"""What a planner says of its settings: every field goes there and back, and other versions are understood."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.errors import InputError
from numaplace.model.settings import Settings, Weights
from numaplace.wire.settings import Told, decode, encode
from tests.recorded import ROOT

NAMES = st.text("abc/.-", min_size=1, max_size=9)
LISTS = st.lists(NAMES, max_size=3).map(tuple)
NUMBERS = st.floats(0, 1e6)
WEIGHTS = st.builds(Weights, *(NUMBERS for _ in Weights.__slots__))
SETTINGS = st.builds(
    Settings, NAMES, NAMES, NAMES, LISTS, NAMES, st.booleans(), st.booleans(), LISTS, st.booleans(), st.booleans(),
    NUMBERS, LISTS, st.booleans(), WEIGHTS,
)  # fmt: skip


@given(SETTINGS, NUMBERS)
def test_every_setting_is_said_and_understood(settings: Settings, silent_s: float) -> None:
    told = Told(settings, silent_s)
    assert decode(encode(told), "Lease") == told


def test_fields_that_are_not_known_are_passed_over_and_those_that_are_missing_have_their_default() -> None:
    text = '{"hcas-exclusive":true,"silent-s":60,"weights":{"packing":3,"colour":1},"gangs":{"a":[1]}}'
    assert decode(text, "Lease") == Told(Settings(hcas_exclusive=True, weights=Weights(packing=3.0)), 60.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("none", "Lease: found 'none'; expected JSON"),
        ("[]", "Lease: found a list; expected a mapping"),
        ('{"silent-s":60,"spread-nodes":"yes"}', "found text 'yes'; expected true or false"),
        ('{"silent-s":60,"sharing-containers":"a"}', "found text 'a'; expected a list"),
        ("{}", "found nothing; expected this field"),
    ],
)
def test_what_is_of_another_form_is_told(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        decode(text, "Lease")
    assert sentence in str(caught.value)


def test_the_names_of_the_fields_are_those_of_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "planner.md").read_text()
    shown = re.search(r"```json\n(\{\"enable-label\".*?)```", page, re.DOTALL)
    assert shown is not None
    assert json.loads(shown[1]) == json.loads(encode(Told(Settings(), 900.0)))

"""JSON read the quick way: several values, double keys, and what JSON cannot hold."""

import pytest

from numaplace.model.errors import InputError
from numaplace.wire.json_text import load_json


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ("\ufeff [1, null]\n", [[1, None]]),
        ('{"a": 1}\n{"b": 2} []', [{"a": 1}, {"b": 2}, []]),
        ('{"a": "\\ud83d\\ude00"}', [{"a": "😀"}]),
        ("{a: 1}", None),
        ("[a, b]", None),
        ('{"a": 1}\n---\n{"b": 2}', None),  # YAML documents that look like JSON
    ],
)
def test_json_is_read_and_what_is_none_is_left_to_yaml(text: str, documents: list[object] | None) -> None:
    assert load_json(text, "f.json") == documents


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": 1,\n "b": }', "f.json: line 2: found broken JSON"),
        ('{"a": 1', "f.json: line 1: found broken JSON"),
        ('{"a": {"b": 1, "b": 2}}', "found the key 'b' twice; expected each key once"),
        ('{"a": NaN}', "found NaN"),
        ('{"a": -Infinity}', "found -Infinity"),
        ('{"a": "\\ud800"}', "found half of a surrogate pair"),
        ('{"\\udfff": 1}', "found half of a surrogate pair"),
        ('{"a": ' + "9" * 5000 + "}", "found a number of thousands of digits"),
        ("[" * 100_000, "found JSON nested too deep"),
        ('{"a":' * 100_000, "found JSON nested too deep"),
    ],
    ids=range(10),
)
def test_broken_json_is_named(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        load_json(text, "f.json")
    assert sentence in str(raised.value)

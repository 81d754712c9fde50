"""Whatever an API server, an agent or a person wrote: looking at a cluster ends in an answer or in one sentence."""

import json
import random
from typing import Any

import pytest

from numaplace.model.errors import InputError
from numaplace.model.settings import Settings
from numaplace.services.planner import Limits
from numaplace.tools.live.holding import holdings_of
from numaplace.tools.live.reading import booked
from numaplace.tools.live.standing import standing_of
from numaplace.tools.report.holdings import holdings_json
from numaplace.tools.report.holdings_table import holdings_text
from numaplace.tools.report.standing import standing_json, standing_text
from numaplace.wire.cluster import decode_cluster
from tests.recorded import ROOT
from tests.tools.live.console import capture_of

CAPTURE = ROOT / "docs" / "examples" / "cluster" / "cluster.json"
ODD: tuple[Any, ...] = (
    None, "", "x", "0", "-1", "1e99", 0, -1, 2**63, 1.5, True, [], {}, [None], {"a": None}, "ns/p", "\ud7ff", "9" * 400
)  # fmt: skip
ROUNDS = 80


def mutated(draw: random.Random, thing: Any) -> Any:
    """The thing with one value somewhere in it replaced, taken away or doubled, also in JSON inside of texts."""
    if isinstance(thing, dict) and thing and draw.random() < 0.97:
        key = draw.choice(list(thing))
        if draw.random() < 0.08:
            return {name: value for name, value in thing.items() if name != key}
        return {**thing, key: mutated(draw, thing[key])}
    if isinstance(thing, list) and thing and draw.random() < 0.97:
        at = draw.randrange(len(thing))
        if draw.random() < 0.08:
            return [*thing[:at], *thing[at + 1 :]] if draw.random() < 0.5 else [*thing, thing[at]]
        return [*thing[:at], mutated(draw, thing[at]), *thing[at + 1 :]]
    if isinstance(thing, str) and thing.startswith("{") and draw.random() < 0.9:
        return json.dumps(mutated(draw, json.loads(thing)))
    return draw.choice(ODD)


def look_at(text: str) -> int:
    """Everything that the commands do with a cluster; how many Pods stood somewhere."""
    settings = Settings()
    objects = decode_cluster(text, "capture")
    reading = booked(objects, settings, Limits())
    found = holdings_of(reading)
    assert holdings_text(found)
    json.dumps(holdings_json(found))
    seen = 0
    for pod in objects.pods:
        standing = standing_of(reading, pod.metadata.namespace or "", pod.metadata.name or "")
        assert standing_text(standing).startswith("Pod ")
        json.dumps(standing_json(standing))
        seen += 1
    again = decode_cluster(capture_of(objects, ours=True), "again")
    capture_of(again, nameless=True)
    return seen


@pytest.mark.parametrize("seed", range(4))
def test_odd_objects_end_in_an_answer_or_a_sentence(seed: int) -> None:
    draw, whole = random.Random(seed), json.loads(CAPTURE.read_text())
    refused: list[str] = []
    for _ in range(ROUNDS):
        odd = whole
        for _ in range(draw.randrange(1, 4)):
            odd = {**odd, "items": mutated(draw, odd["items"])}
        try:
            look_at(json.dumps(odd))
        except InputError as error:
            refused.append(str(error))
    assert 0 < len(refused) < ROUNDS
    assert [sentence for sentence in refused if "\n" in sentence] == []


def test_the_example_is_whole() -> None:
    assert look_at(CAPTURE.read_text()) == 10

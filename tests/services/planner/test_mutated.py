"""10,000 odd questions and odd Pods: always an answer, a refusal or a sentence, and never an end."""

import asyncio
import json
from random import Random
from typing import Any

import aiohttp
import msgspec
import pytest

from numaplace.model import keys
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Refusal
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.news import Waits
from numaplace.wire.live_pod import live_pod_of
from numaplace.wire.nodes import node_of
from numaplace.wire.pod_object import PodObject, SchedulingGate
from tests.recorded import ROOT
from tests.services.planner.asking import answers, door
from tests.services.planner.extender.test_answers import ASKED, binding, open_pod, question
from tests.services.planner.mutation import as_bytes, mutated
from tests.services.planner.reader import double_grants, misplaced
from tests.services.planner.test_keeper import CLUSTER
from tests.services.planner.world import SETTINGS, gated, nodes_of, world_of

RECORDED = sorted((ROOT / "tests" / "services" / "planner" / "recorded").glob("*.json"))
SEEDS = range(2)
EACH = 2_500  # of a seed
AT_ONCE = 50


def test_there_are_recorded_questions_of_every_verb() -> None:
    assert {path.name.partition("-")[0] for path in RECORDED} == {"filter", "prioritize", "bind", "preempt"}


@pytest.mark.parametrize("seed", SEEDS)
async def test_odd_questions_are_answered_and_the_planner_goes_on(seed: int) -> None:
    draw = Random(seed)
    questions = [(path.name.partition("-")[0], json.loads(path.read_bytes())) for path in RECORDED]
    async with world_of(nodes_of(3)) as world:
        at = door()
        planner = world.start(settings=ASKED, door=at)
        await answers(world, at)
        world.add(*(open_pod(f"p{i}") for i in range(3)), open_pod("too-big", gpus=5), open_pod("odd", annotations={}))
        await world.until_refused("too-big")
        for pod in world.pods:
            questions += [("filter", question(pod, "n1", "n2", "n3")), ("bind", binding(pod, "n1"))]

        async def ask(session: aiohttp.ClientSession, verb: str, body: bytes) -> None:
            async with session.post(f"http://{at.host}:{at.port}/v1/{verb}", data=body) as response:
                assert response.status == 200, (verb, body)
                answer = await response.json()
                assert isinstance(answer, list if verb == "prioritize" and "Error" not in answer else dict)

        async with aiohttp.ClientSession() as session:
            for _ in range(EACH // AT_ONCE):
                batch = [draw.choice(questions) for _ in range(AT_ONCE)]
                await asyncio.gather(*(ask(session, verb, as_bytes(mutated(one, draw), draw)) for verb, one in batch))
        assert not planner.done()
        assert double_grants(world.pods) == []
        assert misplaced(pod for pod in world.pods if pod["metadata"]["name"] != "odd") == []


def opened() -> Keeper:
    """A keeper of the small cluster, told of nodes and reports only."""
    keeper = Keeper(SETTINGS, Limits(), clock=lambda: 0.0, wall=lambda: 0.0)
    for kind, thing in CLUSTER:
        if kind == "node":
            keeper.nodes.see(node_of(thing, "node"))
        elif kind == "report":
            keeper.nodes.see_report(NodeName(thing.metadata.name), thing)
    keeper.open()
    return keeper


@pytest.mark.parametrize("seed", SEEDS)
def test_odd_pods_are_placed_or_refused_in_a_sentence(seed: int) -> None:
    draw = Random(seed)
    patterns = [json.loads(path.read_bytes())["Pod"] for path in RECORDED if b'"Pod":' in path.read_bytes()]
    patterns += [gated("p"), gated("q", gpus=0, annotations={"cpuset-scheduler": "required"})]
    keeper = opened()
    index = keeper.refresh()
    refused = placed = 0
    for number in range(EACH):
        pod = read(mutated(draw.choice(patterns), draw))
        if pod is None:
            continue
        keeper.see_pod(pod)
        for news in keeper.news():
            if not isinstance(news, Waits):
                continue
            asks = news.pod.asks
            if not isinstance(asks, Refusal) and asks.is_planned and index.best(asks) is not None:
                placed += 1
                continue
            why = asks if isinstance(asks, Refusal) else index.why_not(asks) if asks.is_planned else None
            if why is not None:
                refused += 1
                assert why.sentence.isprintable(), (number, why)
                assert len(why.sentence) < 4000
        keeper.lose_pod(pod.uid)
    assert placed > 100
    assert refused > 100


def read(thing: Any) -> LivePod | None:
    """The Pod as the watch would have it, under a name as the API server gives; what is no Pod is told as broken."""
    try:
        found = msgspec.convert(thing, PodObject)
    except (msgspec.ValidationError, UnicodeError):
        return None
    found.metadata.uid, found.metadata.namespace, found.metadata.name = PodUid("u"), "ns", "p"
    found.spec.scheduling_gates = [SchedulingGate(keys.PLAN_GATE)]
    return live_pod_of(found, SETTINGS)

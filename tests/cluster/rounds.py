"""Rounds of trouble: in each, Pods are asked for, and at one step of one of them something dies, hangs or lies.

Steps and troubles are drawn from decks, so that each has its turn. Some Pods belong to
the stock scheduler, some to one that asks the planner as its extender, some of those
never see the gate, and some have an owner. There is room before they are asked for, or
only when all have been refused. After each round every Pod has its own place, as an
independent reader of the API objects sees it.
"""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from numaplace.adapters.kube import Key, Resource
from numaplace.adapters.kube.fake import DropRequest, LoseAnswer
from numaplace.adapters.kube.resources import EVENTS, PODS
from numaplace.services.planner.notices import GIVEN_UP
from tests.cluster.cast import NODE_COUNT, Cast, cast
from tests.cluster.control_plane import ControlPlane
from tests.cluster.faulty_proxy import Moment, Trap
from tests.cluster.random_pods import CLASSES
from tests.cluster.scheduler_process import opted_out, waiting
from tests.cluster.stage import Stage, gated, gone, is_bound, listed, refusal
from tests.cluster.steps import STEPS, Step, stands
from tests.cluster.troubles import TOLERATION, TROUBLES, Strike, Trouble
from tests.services.planner.reader import double_grants, misplaced, pin_of, things_of

BARE, OWNED, LATE = 4, 2, 2  # those with a higher priority come in the midst of the trouble
PODS_A_ROUND = BARE + OWNED + LATE
ROOM = 4 * NODE_COUNT  # Pods of two cards
HIGH = max(CLASSES, key=lambda name: CLASSES[name])
STUCK_S = 10.0  # then a person looks
STILL_S = 60.0  # longer than anybody's pause before another attempt
KINDS = (gated, waiting, opted_out)
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
T = TypeVar("T")
Pods = list[dict[str, Any]]


class Deck(Generic[T]):
    """Draws each card once before any comes again."""

    def __init__(self, cards: Sequence[T], draw: random.Random) -> None:
        self._cards, self._draw, self._left = cards, draw, list[T]()

    def next(self) -> T:
        if not self._left:
            self._left = self._draw.sample(self._cards, len(self._cards))
        return self._left.pop()


@dataclass
class Rounds:
    """The same seed draws the same troubles; `struck` counts which of them struck at which step."""

    cast: Cast
    steps: Deck[Step]
    troubles: Deck[Trouble]
    number: int = 0
    placed: int = 0
    overlaps: set[str] = field(default_factory=set)  # seen on the way, where two planners wrote, and mended
    struck: Counter[tuple[str, str]] = field(default_factory=Counter)  # trouble, step
    again: int = 0  # Pods that a person had to create again, as their event said
    missed: Counter[str] = field(default_factory=Counter)  # steps that did not come
    stood: Counter[str] = field(default_factory=Counter)  # how far the Pods of a round were when it was struck
    _trouble: Trouble = TROUBLES[-1]
    _bare: dict[str, dict[str, Any]] = field(default_factory=dict)
    _sets: set[str] = field(default_factory=set)

    async def fill(self) -> None:
        """No room is left."""
        names = [f"r0-{number}" for number in range(ROOM)]
        await self._ask({name: self._pod(name, gated) for name in names})
        await self._until(self._all_is_well)

    async def round(self) -> None:
        """One step of one Pod, and one trouble."""
        self.number += 1
        step, draw = self.steps.next(), self.cast.draw
        trouble = self._trouble = self.troubles.next()
        prefix, refused = f"r{self.number}-", step.waits or draw.random() < 0.5
        kinds = [*KINDS, *draw.choices(KINDS, k=BARE - len(KINDS))]
        pods = {f"{prefix}{i}": self._pod(f"{prefix}{i}", kind) for i, kind in enumerate(kinds)}
        kinds = draw.choices((waiting, opted_out), k=LATE)  # their scheduler evicts nobody for them
        late = {
            f"{prefix}late-{i}": self._pod(f"{prefix}late-{i}", kind, priorityClassName=HIGH)
            for i, kind in enumerate(kinds)
        }
        if trouble.leader:
            await self.cast.let_lead(trouble.leader)
        if not refused:
            await self._make_room(BARE + OWNED)
        trap = self._set(step, prefix)
        await self._ask(pods, owned=True)
        if refused:
            await self._first(trap, lambda found: self._have_answers(found, prefix))
        if refused and not trap.sprung.is_set():
            await self._make_room(0)
        await self._first(trap, self._all_is_well)
        strike = Strike(trap, self._victim(trap, prefix, [*pods]), pods, lambda: self._ask(late))
        await self._strike(trouble, step, strike, prefix)
        await self._make_room(0)
        for name in strike.lost:
            self._bare.pop(name, None)
        await self._until(self._all_is_well)
        self.placed += PODS_A_ROUND - len(strike.lost & pods.keys())

    async def _strike(self, trouble: Trouble, step: Step, strike: Strike, prefix: str) -> None:
        pods = await self.cast.stage.pods()
        self.stood.update(stands(pod) for pod in pods if named(pod).startswith(prefix))
        if strike.trap.sprung.is_set():
            self.struck[trouble.name, step.name] += 1
        else:
            self.missed[step.name] += 1
        print(f"round {self.number}: {trouble.name} {step.name} of {strike.victim}", flush=True)
        await trouble.act(self.cast, strike)
        await strike.more_come()
        late = DropRequest() if step.moment is Moment.BEFORE else LoseAnswer()
        strike.trap.let_go(self.cast.draw.choice((None, late)))

    def summary(self) -> str:
        """What struck where, and how often."""
        lines = [f"{self.number} rounds, {self.placed} Pods", f"Pods were {dict(self.stood)} when it struck"]
        for at, name in ((0, "trouble"), (1, "step")):
            times = Counter[str]()
            for struck, count in self.struck.items():
                times[struck[at]] += count
            lines += [f"{name} {what}: {count}" for what, count in sorted(times.items())]
        lines += [f"pairs of trouble and step: {len(self.struck)} of {len(TROUBLES) * len(STEPS)}"]
        lines += [f"steps that did not come: {dict(self.missed)}", f"overlaps seen: {len(self.overlaps)}"]
        lines += [f"Pods created again, as their event said: {self.again}"]
        return "\n".join(lines)

    # --- who is asked for

    def _pod(self, name: str, kind: Callable[..., dict[str, Any]], **more: Any) -> dict[str, Any]:
        return kind(name, cpus=self.cast.draw.choice((8, 12)), tolerations=[TOLERATION], **more)

    async def _ask(self, pods: dict[str, dict[str, Any]], *, owned: bool = False) -> None:
        self._bare |= pods
        await self.cast.stage.add(*pods.values())
        if owned:
            name = f"r{self.number}-owned"
            self._sets.add(name)
            await self.cast.stage.admin.create(REPLICA_SETS, _replica_set(name), self.cast.stage.space)

    async def _make_room(self, asked: int) -> None:
        """So many may come in addition to those that are there; nobody of this round goes."""
        prefix = f"r{self.number}-"
        old = sorted(name for name in self._bare.keys() | self._sets if not name.startswith(prefix))
        self.cast.draw.shuffle(old)
        over = len(self._bare) + OWNED * len(self._sets) + asked - ROOM
        while over > 0:
            name = old.pop()
            over -= OWNED if name in self._sets else 1
            await gone(
                self.cast.stage.admin, REPLICA_SETS if name in self._sets else PODS, Key(self.cast.stage.space, name)
            )
            self._bare.pop(name, None)
            self._sets.discard(name)

    # --- where it is struck

    def _set(self, step: Step, prefix: str) -> Trap:
        trap = step.trap(prefix, self.cast.draw.randrange(3))
        for proxy in (self.cast.asked,) if step.asks else self.cast.proxies.values():
            proxy.trap = trap
        return trap

    def _victim(self, trap: Trap, prefix: str, names: list[str]) -> str:
        path, body = trap.caught or ("", b"")
        found = re.findall(rf"\b{prefix}[\w-]+", path + body.decode(errors="replace"))
        return next((name for name in found if name in names), found[0] if found else self.cast.draw.choice(names))

    # --- how it is waited for

    def _have_answers(self, pods: Pods, prefix: str) -> bool:
        ours = [pod for pod in pods if named(pod).startswith(prefix)]
        return len(ours) == BARE + OWNED and all(is_bound(pod) or refusal(pod) for pod in ours)

    def _all_is_well(self, pods: Pods) -> bool:
        """Everyone has a place and nobody is lost; an AssertionError where two have the same."""
        staying = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
        owners = Counter(owner["name"] for pod in staying for owner in pod["metadata"].get("ownerReferences", ()))
        lost = self._bare.keys() - {named(pod) for pod in pods}
        assert not lost, lost
        sent = [pod for pod in pods if is_bound(pod) or pin_of(pod)]  # an allocation is a wish until then
        overlaps = set(double_grants(sent))
        assert self._trouble.rivals or not overlaps, overlaps
        if overlaps - self.overlaps:
            print(f"round {self.number}: overlap {sorted(overlaps)}", flush=True)
        self.overlaps |= overlaps
        return (
            all(map(is_bound, staying))
            and owners == Counter(dict.fromkeys(self._sets, OWNED))
            and not double_grants(pods)
            and not misplaced(pods)
            and all(len([one for one in things_of(pod) if "gpu" in one]) == 2 for pod in staying)
        )

    async def _first(self, trap: Trap, fact: Callable[[Pods], bool]) -> None:
        """Return when something is caught, or the fact holds."""
        await _first(trap.sprung.wait(), self._until(fact))

    async def _until(self, fact: Callable[[Pods], bool]) -> None:
        """Return when the fact holds; an AssertionError when nobody has made a step for long."""
        before: list[tuple[str, str]] = []
        since_s = time.monotonic()
        while not fact(pods := await self.cast.stage.pods()):
            now = sorted((pod["metadata"]["uid"], stands(pod)) for pod in pods)
            if now != before:
                before, since_s = now, time.monotonic()
            still = [f"{named(pod)} is {stands(pod)} {refusal(pod)}" for pod in pods if not is_bound(pod)]
            assert time.monotonic() - since_s < STILL_S, (still, double_grants(pods), misplaced(pods))
            if self._trouble.rivals and time.monotonic() - since_s > STUCK_S:
                await self._create_again({named(pod) for pod in pods if not is_bound(pod)})
            self.cast.check()
            await asyncio.sleep(0.05)

    async def _create_again(self, names: set[str]) -> None:
        """A person does what the event of a bare Pod says that can go to one node only, and has no place there."""
        for event in await listed(self.cast.stage.admin, EVENTS, self.cast.stage.space):
            name = event["regarding"]["name"]
            if event["reason"] == GIVEN_UP and name in names & self._bare.keys():
                names.remove(name)
                self.again += 1
                await gone(self.cast.stage.admin, PODS, Key(self.cast.stage.space, name), grace_s=0)
                await self.cast.stage.add(self._bare[name])


async def _first(*ways: Coroutine[Any, Any, Any]) -> None:
    """Return when the first is done, and end the others."""
    tasks = [asyncio.create_task(way) for way in ways]
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for task in done:
        task.result()


def _replica_set(name: str) -> dict[str, Any]:
    template = gated("")
    labels = {"owner": name}
    template["metadata"] = {"annotations": template["metadata"]["annotations"], "labels": labels}
    spec = {"replicas": OWNED, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def named(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["name"])


@asynccontextmanager
async def rounds(plane: ControlPlane, stage: Stage, seed: int) -> AsyncIterator[Rounds]:
    """A full cluster and everyone who acts, for as many rounds as wanted."""
    async with cast(plane, stage, seed) as made:
        trouble = Rounds(made, Deck(STEPS, made.draw), Deck(TROUBLES, made.draw))
        await trouble.fill()
        yield trouble

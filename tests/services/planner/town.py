"""A keeper and a planner in one hand: whatever can happen in a cluster happens to them in random order, and at once.

Nothing is written and no time passes by itself; a plan stays where the planner's
`Hands` put it until a step of the test carries it on.
"""

import asyncio
import json
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, cast

import msgspec
from hypothesis import strategies as st

from numaplace.decide.place import NodeIndex
from numaplace.model import keys
from numaplace.model.allocation import Allocation
from numaplace.model.catalog import Namespace
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod, Stage
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import LabelSelector, Operator, PodTerm, Requirement, Spread, Taint
from numaplace.model.settings import Settings
from numaplace.services.planner.carrier import Carrier
from numaplace.services.planner.extender import Places
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.metrics import Metrics
from numaplace.services.planner.notices import Notices
from numaplace.services.planner.planner import Planner
from numaplace.wire.nodes import ReportObject
from tests.cluster.nodes import described, report_object
from tests.objects import OURS, admitted, container
from tests.properties.pods import renamed
from tests.properties.test_other_pods import NODE_LABELS, kinds

LIMITS = Limits(aside_s=20.0, outstanding=1000)
PAUSE_S = 15.0
MACHINES = ("1pkg 1numa 4cpu 2gpu", "2pkg 2numa 8cpu 4gpu")
WEB = LabelSelector((Requirement("app", Operator.IN, ("web",)),))
TOWARDS_WEB: dict[str, dict[str, Any]] = {
    "near": {"affinity": (PodTerm("zone", WEB, ("ns",)),)},
    "apart": {"anti_affinity": (PodTerm("zone", WEB, ("ns",)),)},
    "even": {"spreads": (Spread("zone", 1, WEB),)},
}
BARE = "1pkg 1numa 4cpu"
SHARED = {"numaplace.dev/policy": "SingleNUMANode"}
TEAM_X = LabelSelector((Requirement("team", Operator.IN, ("x",)),))


@st.composite
def asking(draw: st.DrawFn) -> PodRequest:
    """What a Pod of ours asks: few or many cards and CPUs, and now and then something of the other Pods."""
    gpus, cpus = draw(st.sampled_from((0, 1, 1, 1, 2, 3))), draw(st.sampled_from((1, 1, 2, 3, 5)))
    limits = {"cpu": cpus, **({"aliyun.com/gpu": gpus} if gpus else {})}
    annotations = draw(st.sampled_from((OURS, SHARED, {**OURS, "numaplace.dev/policy": "Restricted"})))
    asks = admitted(container(limits=limits), annotations=annotations, priority=draw(st.integers(0, 2)))
    return _sociable(draw, asks)


def _sociable(draw: st.DrawFn, asks: PodRequest) -> PodRequest:
    """The Pod with rules about others: none, one that most likely means somebody here, or whatever there is."""
    how = draw(st.sampled_from(("alone", "alone", "near", "apart", "even", "any")))
    if how != "any":
        labels = {"app": draw(st.sampled_from(("web", "db")))}
        rules = replace(asks.rules, labels=labels, **TOWARDS_WEB.get(how, {}))
        return replace(asks, namespace="ns", rules=rules)
    kind = draw(kinds())
    rules = replace(kind.rules, amounts=asks.rules.amounts)
    if draw(st.booleans()):  # whom it means is chosen by labels of namespaces
        terms = (PodTerm("zone", LabelSelector(), (), TEAM_X),)
        near = draw(st.booleans())
        rules = replace(rules, affinity=terms) if near else replace(rules, anti_affinity=terms)
    return replace(asks, namespace=kind.namespace, rules=rules)


@st.composite
def plain(draw: st.DrawFn) -> PodRequest:
    """What a Pod asks that others put on a node."""
    return _sociable(draw, admitted(container(limits={"cpu": draw(st.sampled_from((1, 3)))})))


@st.composite
def towns(draw: st.DrawFn) -> "Town":
    """A few nodes of one machine, and what Pods there ask."""
    zoned = st.fixed_dictionaries({"zone": st.sampled_from("aab")})
    labels = draw(st.lists(st.one_of(zoned, zoned, NODE_LABELS), min_size=2, max_size=4))
    settings = Settings(holds_node_back=draw(st.booleans()), release_grace_s=10.0)
    ours = draw(st.lists(asking(), min_size=2, max_size=5))
    town = Town(labels, settings, ours, draw(st.lists(plain(), min_size=1, max_size=3)), (BARE, *MACHINES))
    for which, how in draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=8)):
        town.happens(("add", which, how))
    return town


Step = tuple[str, int, int]
HAPPENS = """
    add add add add run run bind end lose lose lose relabel leave ask fail fail_asked
    label label cordon taint drop report_anew unknown namespace time time term
"""
STEPS = st.lists(
    st.tuples(st.sampled_from(HAPPENS.split()), st.integers(0, 99), st.integers(0, 99)), min_size=12, max_size=30
)


class Hands:
    """In place of the carrier: the plans that were made, carried out by nobody."""

    def __init__(self) -> None:
        self.outstanding: dict[PodUid, float] = {}
        self.plans: dict[PodUid, Allocation] = {}
        self.given_up: list[PodUid] = []

    def carry(self, pod: LivePod, request: PodRequest, allocation: Allocation, *, hinted: bool = False) -> None:
        self.plans[pod.uid] = allocation
        self.outstanding[pod.uid] = 0.0

    def arrived(self, uid: PodUid) -> None:
        self.outstanding.pop(uid, None)

    def gone(self, uid: PodUid) -> None:
        self.outstanding.pop(uid, None)

    def is_busy(self, uid: PodUid) -> bool:
        return False

    def count_young(self, within_s: float) -> int:
        return len(self.outstanding)

    def has_left(self, pod: LivePod) -> bool:
        return False

    def give_up(self, pod: LivePod, why: str) -> None:
        self.given_up.append(pod.uid)

    def lift(self, pod: LivePod) -> None: ...
    def room_came(self, nodes: Collection[NodeName]) -> None: ...
    def mend(self, pod: LivePod, why: Refusal) -> None: ...
    def restore(self, pod: LivePod, allocation: Allocation) -> None: ...


class Silence:
    """In place of the notices: who was told what."""

    def __init__(self) -> None:
        self.told: list[tuple[PodUid, Refusal]] = []

    def refused(self, pod: LivePod, refusal: Refusal) -> None:
        self.told.append((pod.uid, refusal))

    def placed(self, pod: LivePod) -> None: ...
    def strayed(self, pod: LivePod) -> None: ...
    def forget(self, uid: PodUid) -> None: ...
    def repeat(self) -> None: ...


class Town:
    """Nodes n0, n1 … and Pods p0, p1 …; `happens` is one step, after which the planner has done what it can."""

    def __init__(
        self,
        labels: list[dict[str, str]],
        settings: Settings,
        ours: list[PodRequest],
        others: list[PodRequest],
        machines: tuple[str, ...] = MACHINES,
    ) -> None:
        self._ours, self._others, self.settings = ours, others, settings
        enabled = {settings.enable_label: settings.enable_value}
        groups = [
            {"name": f"n{i}", "machine": machines[i % len(machines)], "labels": {**enabled, **one}}
            for i, one in enumerate(labels)
        ]
        self._nodes = {node.name: node for node in described(json.dumps({"nodes": groups}), settings)}
        self.now_s = 0.0
        self.keeper = Keeper(settings, LIMITS, clock=self._clock, wall=self._clock, looks_up=False)
        self.hands, self.notices, self.metrics = Hands(), Silence(), Metrics()
        self._count = 0
        for node in self._nodes.values():
            self.keeper.nodes.see(node.rules)
            self._report(node.name, "")
        self._lead()

    def _lead(self) -> None:
        self.keeper.open()
        carrier, notices = cast(Carrier, self.hands), cast(Notices, self.notices)
        self.planner = Planner(self.keeper, carrier, notices, self.metrics, LIMITS, self._clock, asyncio.Event())

        self.places = Places(self.planner, self.keeper, carrier, notices)

    def happens(self, step: Step) -> None:
        kind, which, how = step
        getattr(self, f"_{kind}")(which, how)
        while self.planner.step():
            pass

    @property
    def tries(self) -> dict[str, int]:
        """The plans that were made so far, by what came of them."""
        registry, name = self.metrics.registry, "numaplace_plans_total"
        return {kind: int(registry.get_sample_value(name, {"answer": kind}) or 0) for kind in ("placed", "refused")}

    @property
    def kinds(self) -> list[PodRequest]:
        """What Pods ask here, for Pods that are not there yet."""
        return [renamed(kind, "new") for kind in (*self._ours, *self._others)]

    def left_waiting(self) -> list[str]:
        """The Pods that wait without being due, and that a search of everything counted anew finds a place for."""
        index = NodeIndex(self.keeper.state, self.settings)
        waiting = self.planner.waiting
        return [
            request.name
            for request, _ in list(waiting.refusals())
            if waiting.answer(request.uid) is not None
            and index.best(request, self.planner.closures.closed_to(index, request)) is not None
        ]

    def _clock(self) -> float:
        return self.now_s

    def _report(self, name: NodeName, reserved: str) -> None:
        report = msgspec.convert(report_object(self._nodes[name], "uid", self.settings), ReportObject)
        for one in report.attributes or ():
            if one.name == keys.RESERVED:
                one.value = reserved
        self.keeper.nodes.see_report(name, report)

    def _name(self, which: int) -> NodeName:
        return sorted(self._nodes)[which % len(self._nodes)]

    def _pod(self, which: int, *stages: Stage) -> LivePod | None:
        pods = sorted((pod for pod in self.keeper.pods.values() if pod.stage in stages), key=lambda pod: pod.uid)
        return pods[which % len(pods)] if pods else None

    def _promised(self, which: int, *stages: Stage) -> tuple[LivePod, Allocation] | None:
        held = [(pod, self.keeper.promised(pod.uid)) for pod in self.keeper.pods.values() if pod.stage in stages]
        promised = sorted(((pod, what) for pod, what in held if what is not None), key=lambda one: one[0].uid)
        return promised[which % len(promised)] if promised else None

    # --- what happens to Pods

    def _new(self, kinds: list[PodRequest], which: int, **more: Any) -> None:
        self._count += 1
        asks = replace(renamed(kinds[which % len(kinds)], f"p{self._count}"), created_s=float(self._count))
        self.keeper.see_pod(LivePod(asks.uid, asks.namespace, asks.name, asks, **more))

    def _add(self, which: int, how: int) -> None:
        self._new(self._ours, which, asked=how % 2 == 0, gates=() if how % 4 == 0 else (keys.PLAN_GATE,))

    def _run(self, which: int, how: int) -> None:
        self._new(self._others, which, node=self._name(how))

    def _bind(self, which: int, _: int) -> None:
        if one := self._promised(which, Stage.WAITS, Stage.OPEN):
            pod, promised = one
            self.keeper.see_pod(replace(pod, gates=(), node=promised.node, allocation=promised))

    def _end(self, which: int, _: int) -> None:
        if (pod := self._pod(which, Stage.BOUND)) is not None:
            self.keeper.see_pod(replace(pod, ended=True))

    def _leave(self, which: int, _: int) -> None:
        if (pod := self._pod(which, Stage.BOUND)) is not None:
            self.keeper.see_pod(replace(pod, deleting=True, asks=_with_rules(pod, leaving=True)))

    def _lose(self, which: int, _: int) -> None:
        if (pod := self._pod(which, *Stage)) is not None:
            self.keeper.lose_pod(pod.uid)

    def _relabel(self, which: int, how: int) -> None:
        if (pod := self._pod(which, *Stage)) is not None:
            labels: dict[str, str] = {"app": ("web", "db")[how % 2]} if how % 3 else {}
            self.keeper.see_pod(replace(pod, asks=_with_rules(pod, labels=labels)))

    def _ask(self, which: int, _: int) -> None:
        """The scheduler asks the extender."""
        if (pod := self._pod(which, Stage.OPEN)) is not None:
            self.places.answer(pod)

    def _fail(self, which: int, _: int) -> None:
        """The API server does not accept the plan."""
        if one := self._promised(which, Stage.WAITS):
            pod, promised = one
            assert isinstance(pod.asks, PodRequest)
            self.planner.plan_failed(pod.asks, promised.node)
            self.keeper.release(pod.uid)
            self.keeper.see_pod(pod)

    def _fail_asked(self, which: int, how: int) -> None:
        """The scheduler's own rules refuse the planned node; it may know earlier than we that the gate is gone."""
        if (one := self._promised(which, Stage.WAITS, Stage.OPEN)) and one[0].asked:
            pod, promised = one
            self.places.failed(pod, promised.node, [self._name(how)])

    # --- what happens to nodes, and to all

    def _change(self, which: int, change: Callable[[Any], Any]) -> None:
        name = self._name(which)
        node = self._nodes[name]
        self._nodes[name] = replace(node, rules=change(node.rules))
        self.keeper.nodes.see(self._nodes[name].rules)

    def _label(self, which: int, how: int) -> None:
        def change(rules: Any) -> Any:
            key, value = (("zone", "a"), ("zone", "b"), ("rack", "x"), ("disk", "ssd"))[how % 4]
            labels = {name: text for name, text in rules.labels.items() if name != key}
            return replace(rules, labels=labels if how % 3 == 0 else {**labels, key: value})

        self._change(which, change)

    def _cordon(self, which: int, how: int) -> None:
        self._change(which, lambda rules: replace(rules, cordoned=how % 2 == 0))

    def _taint(self, which: int, how: int) -> None:
        taints = () if how % 2 else (Taint("own", "", "NoSchedule"),)
        self._change(which, lambda rules: replace(rules, taints=taints))

    def _drop(self, which: int, how: int) -> None:
        if how % 2:
            self.keeper.nodes.lose(self._name(which))
        else:
            self.keeper.nodes.see(self._nodes[self._name(which)].rules)

    def _report_anew(self, which: int, how: int) -> None:
        self._report(self._name(which), ("", "0", "0-3")[how % 3])

    def _unknown(self, which: int, _: int) -> None:
        self.keeper.nodes.lose_report(self._name(which))

    def _namespace(self, which: int, how: int) -> None:
        labels = {"team": ("x", "y")[how % 2]} if how % 3 else {}
        self.keeper.see_entry(Namespace(("ns", "other")[which % 2], labels))

    def _term(self, _: int, how: int) -> None:
        """The planner leads no more, and again."""
        if how % 4 == 0:
            self.keeper.close()
            self._lead()

    def _time(self, _: int, how: int) -> None:
        self.now_s += how % int(PAUSE_S)
        self.planner.tick()


def _with_rules(pod: LivePod, **change: Any) -> PodRequest | Refusal:
    asks = pod.asks
    return asks if isinstance(asks, Refusal) else replace(asks, rules=replace(asks.rules, **change))

"""Rules about other Pods: what is kept up to date node by node is what counting everything anew gives (9)."""

import json
from dataclasses import replace
from types import MappingProxyType

from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.decide.place import NodeIndex, Placement, judge, nearness
from numaplace.decide.rules import Company, check_promised
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import HostPort, LabelSelector, Operator, PodRules, PodTerm, Requirement, Spread, Volumes
from numaplace.model.settings import Settings
from tests.cluster.nodes import described
from tests.objects import OURS, admitted, container
from tests.properties.effort import examples
from tests.properties.pods import renamed

SETTINGS = Settings()
KEYS = st.sampled_from(("kubernetes.io/hostname", "zone", "zone", "rack"))
APPS = st.sampled_from(("web", "db"))
SELECTORS = st.one_of(
    APPS.map(lambda app: LabelSelector((Requirement("app", Operator.IN, (app,)),))),
    st.sampled_from((LabelSelector(), None, LabelSelector((Requirement("app", Operator.NOT_IN, ("db",)),)))),
)
TERMS = st.builds(PodTerm, KEYS, SELECTORS, st.sampled_from((("ns",), ("other",), ("ns", "other"))))
SPREADS = st.builds(
    Spread, KEYS, st.integers(1, 2), SELECTORS, st.sampled_from((1, 1, 2, 3)), st.booleans(), st.booleans()
)
NODE_LABELS = st.fixed_dictionaries(
    {}, optional={"zone": st.sampled_from("ab"), "rack": st.sampled_from("xy"), "disk": st.just("ssd")}
)
RULES = st.builds(
    PodRules,
    labels=APPS.map(lambda app: {"app": app}),
    node_selector=st.sampled_from(({}, {}, {"disk": "ssd"})),
    affinity=st.lists(TERMS, max_size=1).map(tuple),
    anti_affinity=st.lists(TERMS, max_size=1).map(tuple),
    spreads=st.lists(SPREADS, max_size=2).map(tuple),
    ports=st.sampled_from(((), (), (HostPort(80),))),
    claims=st.sampled_from(((), (), ("data",))),
)
ASKS = admitted(container(limits={"cpu": 2, "aliyun.com/gpu": 1}), annotations=OURS)


@st.composite
def kinds(draw: st.DrawFn) -> PodRequest:
    rules = draw(RULES)
    volumes = Volumes(alone=frozenset(rules.claims)) if rules.claims else None
    amounts = ASKS.rules.amounts
    return replace(
        ASKS, namespace=draw(st.sampled_from(("ns", "other"))), rules=replace(rules, volumes=volumes, amounts=amounts)
    )


@st.composite
def nodes(draw: st.DrawFn) -> dict[NodeName, NodeState]:
    labels = draw(st.lists(NODE_LABELS, min_size=1, max_size=4))
    enabled = {SETTINGS.enable_label: SETTINGS.enable_value}
    groups = [
        {"name": f"n{i}", "machine": "1pkg 1numa 8cpu 3gpu", "labels": {**enabled, **one}}
        for i, one in enumerate(labels)
    ]
    return {node.name: node for node in described(json.dumps({"nodes": groups}))}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("plan", "plan", "plan", "end", "leave", "move", "relabel")), st.integers(0, 99), NODE_LABELS
    ),
    min_size=1,
    max_size=10,
)


def by_hand(cluster: dict[NodeName, NodeState], request: PodRequest) -> Placement | Refusal:
    """The best rank of all nodes; else the refusal of the nearest miss. Everything is counted anew."""
    around = Company(ClusterState(cluster)).around(request)
    answers = {name: judge(cluster[name], request, SETTINGS, around) for name in sorted(cluster)}
    places = [answer for answer in answers.values() if isinstance(answer, Placement)]
    refusals = [answer for answer in answers.values() if isinstance(answer, Refusal)]
    if places:
        return min(places, key=lambda place: place.rank)
    return min(refusals, key=lambda one: nearness(cluster[one.node or NodeName("")], request, one))


@given(nodes(), st.lists(kinds(), min_size=1, max_size=3), STEPS)
@settings(max_examples=examples(80), deadline=None)
def test_an_index_that_follows_changes_answers_as_one_made_anew(
    cluster: dict[NodeName, NodeState], asking: list[PodRequest], steps: list[tuple[str, int, dict[str, str]]]
) -> None:
    index = NodeIndex(ClusterState(MappingProxyType(dict(cluster))), SETTINGS)
    for number, (step, which, labels) in enumerate(steps):
        name = sorted(cluster)[which % len(cluster)]
        node = cluster[name]
        held = sorted(node.holders)
        if step == "plan":
            request = renamed(asking[which % len(asking)], f"p{number}")
            answer, right = index.best(request), by_hand(cluster, request)
            assert index.takes(request, cluster) is (answer is not None)
            if answer is None:
                refusal = index.why_not(request)
                assert isinstance(right, Refusal)
                assert refusal.code is right.code
                assert refusal.sentence.endswith(right.sentence)
                continue
            assert answer == right
            node = cluster[answer.allocation.node].holding(Holder(request, answer.allocation, Phase.HELD))
        elif step == "relabel":
            own = {key: value for key, value in node.rules.labels.items() if "/" in key or "." in key}
            node = replace(node, rules=replace(node.rules, labels={**own, **labels}))
        elif held and step == "move":  # as one change: nobody asks in between
            holder, to = node.holders[held[which % len(held)]], cluster[max(cluster)]
            cluster[name] = node = node.without(holder.request.uid)
            index.update(node)
            node = (node if to.name == name else to).holding(Holder(holder.request, None, Phase.GRANTED))
        elif held and step == "end":
            holder = node.holders[held[which % len(held)]]
            node = node.holding(replace(holder, phase=Phase.RELEASING))
        elif held:
            node = node.without(held[which % len(held)])
        cluster[node.name] = node
        index.update(node)


@given(nodes(), st.lists(kinds(), min_size=1, max_size=8))
@settings(max_examples=examples(60), deadline=None)
def test_a_promise_is_judged_as_if_the_pod_were_not_there_yet(
    cluster: dict[NodeName, NodeState], asking: list[PodRequest]
) -> None:
    index = NodeIndex(ClusterState(cluster), SETTINGS)
    for number, kind in enumerate(asking):
        request = renamed(kind, f"p{number}")
        answer = index.best(request)
        if answer is not None:
            node = index.node(answer.allocation.node).holding(Holder(request, answer.allocation, Phase.HELD))
            index.update(node)
            for _ in range(2):  # asking changes nothing
                assert check_promised(request, node, index.company, SETTINGS) is None

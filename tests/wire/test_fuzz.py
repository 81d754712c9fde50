"""Whatever stands in a manifest or an annotation: an answer, a refusal or one printable sentence, never a traceback."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from numaplace.decide.admit import check, warnings
from numaplace.decide.rules import Company, wishes_met
from numaplace.decide.rules import check as check_rules
from numaplace.model import keys
from numaplace.model.cluster import ClusterState, Holder, node_state
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules
from numaplace.model.settings import Settings
from numaplace.wire.allocation import decode as decode_allocation
from numaplace.wire.manifests import decode_manifests
from numaplace.wire.nodes import decode_nodes
from numaplace.wire.pod import decode
from numaplace.wire.quantity import parse_quantity
from numaplace.wire.workload import expand
from tests.objects import container, pod_object
from tests.recorded import ROOT
from tests.wire.test_allocation import EXAMPLE_TEXT

# Hundreds of inputs on every run, as many as the profile says in the long one.
HARD = settings(max_examples=max(300, settings().max_examples), suppress_health_check=[HealthCheck.too_slow])
LONGEST_SENTENCE = 4000

EXAMPLES = [path.read_text() for path in sorted((ROOT / "deploy" / "examples").glob("*.yaml"))]
ODD = st.sampled_from(
    ["", "~", "{}", "[]", "-1", "9" * 60, "1e999", ".nan", "yes", "*a", "&a", "<<", "!!x", "\ud800", "\x00", "'", '"',
     "🦀", "- ", ": ", "\t", "---\n", "#", "|", ">", "{{", "null", "0x", "0o", "\r\n", "\u2028", "%YAML 9.9\n"]
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | ODD, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def mutated_text(draw: st.DrawFn, texts: list[str]) -> str:
    """One of the texts with a few pieces cut out, doubled or replaced by something odd."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 30)))
        middle = draw(st.sampled_from(["cut", "double", "odd"]))
        piece = {"cut": "", "double": text[start:end] * 2, "odd": draw(ODD)}[middle]
        text = text[:start] + piece + text[end:]
    return text


@st.composite
def mutated_object(draw: st.DrawFn, thing: dict[str, Any]) -> Any:
    """The object with one of its parts, at any depth, replaced by anything."""
    copy = json.loads(json.dumps(thing))
    part: Any = copy
    while True:
        places = sorted(part) if isinstance(part, dict) else list(range(len(part)))
        if not places:
            return copy
        place = draw(st.sampled_from(places))
        if not isinstance(part[place], dict | list) or draw(st.integers(0, 3)) == 0:
            part[place] = draw(anything)
            return copy
        part = part[place]


FULL_POD = pod_object(
    container(
        "app",
        {"cpu": "4", "memory": "1Gi", "aliyun.com/gpu": 1, "rdma/hca": 1, "hugepages-2Mi": "4Mi"},
        resizePolicy=[{"resourceName": "memory"}],
        ports=[{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}],
    ),
    init=(container("warm", {"cpu": "1", "memory": "1Gi"}, restartPolicy="Always"),),
    annotations={
        "cpuset-scheduler": "required",
        keys.ACK_NUMA_SPEC: '{"numaTopologyPolicy": "Restricted"}',
        keys.GPU_HCA: "PIX",
        keys.MEMORY_LOCALITY: '{"policy": "none"}',
    },
    labels={"app": "x"},
    hostNetwork=True,
    priority=3,
    nodeSelector={"zone": "a"},
    tolerations=[{"key": "a", "operator": "Gt", "value": "3", "effect": "NoSchedule"}],
    overhead={"cpu": "250m"},
    volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "w", "ephemeral": {}}],
    topologySpreadConstraints=[
        {
            "topologyKey": "zone",
            "maxSkew": 1,
            "minDomains": 2,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}},
            "matchLabelKeys": ["app"],
            "nodeTaintsPolicy": "Honor",
        }
    ],
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
            ],
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"a": "b"}}}
            ]
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
            ]
        },
    },
)
NODE = {
    "kind": "Node",
    "metadata": {"name": "e01", "labels": {"a": "b"}},
    "spec": {"unschedulable": False, "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "96", "memory": "2Ti", "pods": "110"}},
}
REPORT = {
    "kind": "NodeResourceTopology",
    "metadata": {"name": "e01"},
    "attributes": [{"name": "numaplace.dev/topology", "value": "{}"}],
}


def answered(read: Callable[[], object]) -> object | None:
    """What a decoder gives, or None after one printable sentence of bounded length."""
    try:
        return read()
    except InputError as error:
        sentence = str(error)
        sentence.encode()
        assert len(sentence) < LONGEST_SENTENCE
        assert "; expected " in sentence
        return None


def judged(pod: Any) -> None:
    """A decoded Pod is always a request or a refusal, and every rule has an answer for it."""
    request = check(pod, Settings())
    for sentence in warnings(pod):
        sentence.encode()
    if isinstance(request, Refusal):
        request.sentence.encode()
        assert len(request.sentence) < LONGEST_SENTENCE
        return
    assert isinstance(request, PodRequest)
    assert request.cpus >= sum(one.cpus for one in request.containers)
    node = node_state(NodeName("n"), NodeRules(labels={"zone": "a", "kubernetes.io/hostname": "n"}))
    around = Company(ClusterState({node.name: node.holding(Holder(request))})).around(replace(request, uid=PodUid("?")))
    verdict = check_rules(request, node.rules, [request], Settings(), around)
    assert verdict is None or len(verdict.sentence) < LONGEST_SENTENCE
    assert 0.0 <= wishes_met(request, NodeRules()) <= 1.0


@HARD
@given(mutated_text(EXAMPLES) | st.text(max_size=200))
@example("a: &a [x]\nb: [" + "*a," * 50 + "]")
@example("kind: List\nitems: [&a {kind: List, items: [*a]}]")
@example("kind: Pod\nmetadata: {name: 1e3}\nspec: {containers: [{name: 010}]}")
@example("8: x\n8.0: y\nnull: z")
def test_any_text_is_manifests_or_a_sentence(text: str) -> None:
    found = answered(lambda: decode_manifests(text, "f.yaml"))
    for workload in getattr(found, "workloads", ()):
        for pod in expand(workload)[:3]:
            judged(pod)


@HARD
@given(mutated_object(FULL_POD) | anything)
def test_any_object_is_a_pod_or_a_sentence(thing: object) -> None:
    pod = answered(lambda: decode(thing, "pod"))
    if pod is not None:
        judged(pod)


ANNOTATIONS = sorted({*keys.OWN_KEYS, *keys.JSON_KEYS, keys.CPUSET_SCHEDULER, "cpu-policy", "numaplace.dev/x"})
VALUES = st.sampled_from(
    ["required", "SingleNUMANode", "Required", "exclusive", "shared", "bind", "PIX", "spread", "", "{}", "[" * 5000,
     '{"numaTopologyPolicy": "Restricted"}', '{"numaTopologyPolicy": "Restricted", "numaTopologyPolicy": []}']
)  # fmt: skip


@HARD
@given(st.dictionaries(st.sampled_from(ANNOTATIONS), VALUES | st.text(max_size=30) | anything.map(json.dumps)))
def test_any_annotations_are_a_request_or_a_refusal(annotations: dict[str, str]) -> None:
    main = container(limits={"cpu": 2, "memory": "1Gi", "aliyun.com/gpu": 1})
    judged(decode(pod_object(main, annotations=annotations), "pod"))


@HARD
@given(anything | st.from_regex(r"[+-]?[0-9.]{0,5}[eE]?[-+]?[0-9]{0,12}[KMGTPEmunki]{0,2}", fullmatch=True))
def test_anything_is_a_quantity_or_a_sentence(text: object) -> None:
    milli = answered(lambda: parse_quantity(text, "cpu"))
    if milli is not None:
        assert isinstance(milli, int)
        assert 0 <= milli < 2**63 * 1000


@HARD
@given(mutated_text([EXAMPLE_TEXT]) | mutated_object(json.loads(EXAMPLE_TEXT)).map(json.dumps) | st.text(max_size=50))
def test_any_text_is_an_allocation_or_a_sentence(text: str) -> None:
    answered(lambda: decode_allocation(text, "annotation"))


@HARD
@given(mutated_object({"kind": "List", "items": [NODE, REPORT]}))
def test_any_dump_is_nodes_or_a_sentence(thing: object) -> None:
    answered(lambda: decode_nodes(json.dumps(thing), "dump.json"))


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 30)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "[" * 1_000_000,
        "{a: " * 100_000,
        "- " * 100_000 + "x",
        "? " * 100_000,
        "kind: Pod\nmetadata: {name: " + "x" * 10_000_000 + "}\nspec: 3\n",
        "kind: Deployment\nmetadata: {name: x}\nspec: {replicas: " + "9" * 100_000 + "}\n",
    ],
    ids=["aliases", "flow lists", "flow maps", "block lists", "keys", "a long name", "a long number"],
)
def test_text_that_means_harm_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError) as raised:
        decode_manifests(text, "bomb.yaml")
    assert len(str(raised.value)) < LONGEST_SENTENCE


def test_the_pod_that_is_mutated_is_a_good_one() -> None:
    assert isinstance(check(decode(FULL_POD, "pod"), Settings()), PodRequest)

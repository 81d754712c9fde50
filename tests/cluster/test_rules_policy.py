"""What CEL refuses at creation, the planner's rules refuse with the same sentence; what is well-formed passes both."""

import random
from typing import Any

import pytest

from numaplace.adapters.kube import InvalidError, Kube
from numaplace.decide.admit import check
from numaplace.model import keys
from numaplace.model.refusal import Refusal
from numaplace.model.settings import Settings
from numaplace.wire.pod import decode
from tests.cluster.chart import tried
from tests.objects import container, pod_object, sidecar

ACK, KOORDINATOR = keys.ACK_NUMA_SPEC, keys.KOORDINATOR_NUMA_SPEC
EXCLUSIVE = {"cpuset-scheduler": "required"}
SINGLE = {keys.POLICY: "SingleNUMANode"}
TWO = {"cpu": "2"}
SPACE = "default"  # nothing is stored


def pod(*containers: dict[str, Any], annotations: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    made = pod_object(*(containers or (container(limits=TWO),)), annotations=annotations, **more)
    for one in (*made["spec"]["initContainers"], *made["spec"]["containers"]):
        one.setdefault("image", "none")
    del made["metadata"]["namespace"]
    return made


def of(*families: dict[str, str], **more: str) -> dict[str, Any]:
    """A Pod with these annotations; keywords are keys of ours, `_` for `-`."""
    own = {f"numaplace.dev/{key.replace('_', '-')}": value for key, value in more.items()}
    return pod(annotations={key: value for family in families for key, value in family.items()} | own)


WHOLE = {  # CEL sees everything that is wrong
    "cpuset-scheduler": of({"cpuset-scheduler": "yes"}),
    "cpuset-scheduler, empty": of({"cpuset-scheduler": ""}),
    "policy": of(policy="Single"),
    "policy, with quotes": of(policy="it's \"one\" \\"),
    "policy, with an apostrophe": of(policy="it's"),
    "policy, long": of(policy="x" * 100),
    "exclusive": of(SINGLE, exclusive="always"),
    "exclusive alone": of(exclusive="Required"),
    "exclusive beside a wrong policy": of(policy="?", exclusive="Required"),
    "cpus": of(cpus="mine"),
    "cpus against cpuset-scheduler": of(EXCLUSIVE, cpus="shared"),
    "cpu-rule": of(EXCLUSIVE, cpu_rule="any"),
    "memory": of(SINGLE, memory="on"),
    "gpu-hca": of(SINGLE, gpu_hca="SYS"),
    "gpu-hca without either": of(SINGLE, gpu_hca="PIX"),
    "gpu-hca without HCAs": pod(
        container(limits={**TWO, "aliyun.com/gpu": 2}), annotations={**SINGLE, keys.GPU_HCA: "PIX"}
    ),
    "ack policy": of({ACK: '{"numaTopologyPolicy": "Single"}'}),
    "ack exclusive": of({ACK: '{"numaTopologyPolicy":"Restricted","singleNUMANodeExclusive":"x"}'}),
    "ack empty": of({ACK: "{}"}),
    "ack without a policy": of({ACK: '{"singleNUMANodeExclusive": "Required"}'}),
    "ack unknown key": of({ACK: '{ "numaTopologyPolicy" : "BestEffort" ,\n "policy": "x" }'}),
    "koordinator policy": of({KOORDINATOR: '{"numaTopologyPolicy": ""}'}),
    "ack against koordinator": of(
        {ACK: '{"numaTopologyPolicy": "BestEffort"}', KOORDINATOR: '{"numaTopologyPolicy": "Restricted"}'}
    ),
    "ack against ours": of({ACK: '{"numaTopologyPolicy": "BestEffort"}'}, policy="Restricted"),
    "exclusivities disagree": of(
        {ACK: '{"numaTopologyPolicy": "BestEffort", "singleNUMANodeExclusive": "Required"}'}, exclusive="Preferred"
    ),
    "half a CPU": pod(container(limits={"cpu": "1500m"}), annotations=EXCLUSIVE),
    "half a CPU, as a decimal": pod(container(limits={"cpu": 0.5}), annotations=EXCLUSIVE),
    "no CPU": pod(container(limits={"memory": "1Gi"}), annotations=EXCLUSIVE),
    "no resources": pod(container(), annotations=EXCLUSIVE),
    "zero CPUs": pod(container(limits={"cpu": 0}), annotations=EXCLUSIVE),
    "request below the limit": pod(container(limits={"cpu": 4}, requests={"cpu": 2}), annotations=EXCLUSIVE),
    "request of half a CPU": pod(container(limits={"cpu": 4}, requests={"cpu": "500m"}), annotations=EXCLUSIVE),
    "an injected sidecar": pod(
        container(limits=TWO), init=(sidecar("istio-proxy", {"cpu": "100m"}),), annotations=EXCLUSIVE
    ),
    "an injected container": pod(
        container(limits=TWO), container("daprd", {"cpu": 2}, requests={"cpu": 1}), annotations=EXCLUSIVE
    ),
    "CPUs that may be resized": pod(
        container(limits=TWO, resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
        annotations=EXCLUSIVE,
    ),
    "cpus: exclusive": pod(container(limits={"cpu": "1500m"}), annotations={keys.CPUS: "exclusive"}),
    "five faults": pod(*(container(f"c{i}", {"cpu": "100m"}) for i in range(5)), annotations=EXCLUSIVE),
    "another plugin's GPU": pod(container(limits={**TWO, "nvidia.com/gpu": 1}), annotations=SINGLE),
    "both GPUs": pod(container(limits={**TWO, "nvidia.com/gpu": 1, "aliyun.com/gpu": 1}), annotations=SINGLE),
    "another plugin's GPU in an init container": pod(
        container(limits=TWO), init=(container("first", {"nvidia.com/gpu": 1}),), annotations=EXCLUSIVE
    ),
    "a shared GPU": pod(container(limits={**TWO, "nvidia.com/gpu.shared": 1}), annotations=SINGLE),
    "a part of our own GPU": pod(container(limits={**TWO, "aliyun.com/gpu.shared": 1}), annotations=SINGLE),
    "a MIG slice": pod(container(limits={**TWO, "nvidia.com/mig-1g.5gb": 1}), annotations=EXCLUSIVE),
    "RDMA without the host's network": pod(container(limits={"rdma/hca": 1})),
    "RDMA in an init container": pod(container(), init=(container("first", {"rdma/hca": 1}),)),
    "bound memory without a request": of(SINGLE, memory="bind"),
    "bound memory without a placement": pod(
        container(limits={"memory": "1Gi"}), annotations={keys.MEMORY: "bind"}
    ),
    "cpu-policy": of(SINGLE, {"cpu-policy": "static-burst"}),
    "gpu-topology": pod(annotations=SINGLE, labels={"gpu-topology": "true", "gpu-topology-replica": "2"}),
    "gpu-mem": pod(container(limits={"aliyun.com/gpu-mem": 4}), annotations=SINGLE),
    "gpu-mem beside GPUs": pod(container(limits={"aliyun.com/gpu-mem": 4, "aliyun.com/gpu": 1})),
    "resources of the whole Pod": pod(container(limits=TWO), annotations=SINGLE, resources={"requests": {"cpu": 4}}),
    "many kinds of faults": pod(
        container(limits={"cpu": "1500m", "nvidia.com/gpu": 1, "rdma/hca": 1}),
        annotations={**EXCLUSIVE, keys.POLICY: "x", keys.MEMORY: "y"},
    ),
}  # fmt: skip
PARTLY = {  # CEL sees a part of what is wrong
    "an unreadable spec": of({**EXCLUSIVE, ACK: '{"numaTopologyPolicy": 1}'}, cpus="shared"),
    "a wrong locality": of({"koordinator.sh/memoryLocality": "x"}, cpu_rule="y"),
}
LATER = {  # CEL lets them pass, the planner refuses them
    "no JSON": of({ACK: "SingleNUMANode"}),
    "an escape": of({ACK: '{"numaTopologyPolicy": "\\u0041"}'}),
    "a key twice": of({ACK: '{"numaTopologyPolicy": "Restricted", "numaTopologyPolicy": "Restricted"}'}),
    "a number": of({ACK: '{"numaTopologyPolicy": 1}'}),
    "a very long spec": of({ACK: "{" + " " * 2000 + '"numaTopologyPolicy": "x"}'}),
    "a letter beyond ASCII": of(policy="größe"),
    "a line break": of(policy="SingleNUMANode\n"),
    "a wrong locality": of({"koordinator.sh/memoryLocality": "x"}),
}
GOOD = {
    "nothing of ours": pod(),
    "exclusive": of(EXCLUSIVE),
    "exclusive, as 2000m": pod(container(limits={"cpu": "2000m"}), annotations=EXCLUSIVE),
    "exclusive, as 2e0": pod(container(limits={"cpu": "2e0"}), annotations=EXCLUSIVE),
    "exclusive, request by default": pod({"name": "main", "resources": {"limits": TWO}}, annotations=EXCLUSIVE),
    "ack": of({ACK: '{"numaTopologyPolicy": "SingleNUMANode", "singleNUMANodeExclusive": "Preferred"}'}, EXCLUSIVE),
    "three that agree": of(
        {ACK: '{"numaTopologyPolicy":"Restricted"}', KOORDINATOR: '\n{"numaTopologyPolicy" :"Restricted"} '},
        policy="Restricted",
    ),
    "every key": pod(
        container(limits={"cpu": 4, "memory": "1Gi", "aliyun.com/gpu": 2, "rdma/hca": 1}),
        annotations={
            **EXCLUSIVE, **SINGLE, keys.EXCLUSIVE: "Preferred", keys.CPUS: "exclusive", keys.CPU_RULE: "spread",
            keys.MEMORY: "bind", keys.GPU_HCA: "NODE",
        },
        hostNetwork=True,
    ),
    "an init container without CPUs": pod(container(limits=TWO), init=(container("first"),), annotations=EXCLUSIVE),
    "a sidecar with CPUs": pod(container(limits=TWO), init=(sidecar("log", {"cpu": 1}),), annotations=EXCLUSIVE),
    "GPUs without a word": pod(container(limits={"aliyun.com/gpu": 1, "cpu": "500m"})),
    "another plugin's GPU without a word": pod(container(limits={"nvidia.com/gpu": 1})),
    "a policy and half a CPU": pod(container(limits={"cpu": "500m"}), annotations=SINGLE),
    "cpu-policy without ours": of({"cpu-policy": "static-burst"}),
    "the locality": of({"koordinator.sh/memoryLocality": '{"policy": "bestEffort"}'}),
    "an unknown key": of(polcy="x"),
    "opted out": of(SINGLE, EXCLUSIVE, gate="off"),
}  # fmt: skip


async def refusal_by_cel(kube: Kube, asked: dict[str, Any]) -> str:
    """Code and sentence, or nothing where the Pod is let in."""
    try:
        await tried(kube, asked, SPACE)
    except InvalidError as error:
        return error.message.partition("'numaplace-rules' denied request: ")[2] or error.message
    return ""


def refusal_by_us(asked: dict[str, Any]) -> str:
    metadata = {**asked["metadata"], "namespace": SPACE}
    answer = check(decode({**asked, "metadata": metadata}, "Pod"), Settings())
    return f"{answer.code}: {answer.sentence}" if isinstance(answer, Refusal) else ""


def faults(refusal: str) -> list[str]:
    return refusal.partition("/p: ")[2].split(". Also: ") if refusal else []


@pytest.mark.parametrize("asked", WHOLE.values(), ids=WHOLE)
async def test_a_broken_rule_is_refused_at_creation_with_the_planners_sentence(
    kube: Kube, asked: dict[str, Any]
) -> None:
    said = await refusal_by_cel(kube, asked)
    assert said.startswith(f"SPEC_INVALID: Pod {SPACE}/p: ")
    assert said == refusal_by_us(asked)


@pytest.mark.parametrize("asked", PARTLY.values(), ids=PARTLY)
async def test_of_several_faults_it_names_those_it_sees(kube: Kube, asked: dict[str, Any]) -> None:
    seen, all_of_them = faults(await refusal_by_cel(kube, asked)), faults(refusal_by_us(asked))
    assert seen
    assert len(seen) < len(all_of_them)
    assert set(seen) < set(all_of_them)


@pytest.mark.parametrize("asked", LATER.values(), ids=LATER)
async def test_what_it_cannot_judge_is_left_to_the_planner(kube: Kube, asked: dict[str, Any]) -> None:
    assert await refusal_by_cel(kube, asked) == ""
    assert refusal_by_us(asked).startswith("SPEC_INVALID: ")


@pytest.mark.parametrize("asked", GOOD.values(), ids=GOOD)
async def test_what_is_well_formed_passes_both(kube: Kube, asked: dict[str, Any]) -> None:
    assert await refusal_by_cel(kube, asked) == ""
    assert refusal_by_us(asked) == ""


@pytest.mark.parametrize(
    "theirs",
    [{"schedulerName": "koord-scheduler"}, {"nodeName": "n1"}],
    ids=["another scheduler's", "bound at creation"],
)
async def test_words_of_pods_that_are_not_planned_are_not_judged(admin: Kube, theirs: dict[str, str]) -> None:
    for asked in (WHOLE["policy"], WHOLE["half a CPU"], WHOLE["ack empty"]):
        assert await refusal_by_cel(admin, {**asked, "spec": {**asked["spec"], **theirs}}) == ""


@pytest.mark.parametrize("seed", range(4))
async def test_no_pod_is_refused_for_what_the_planner_would_take(kube: Kube, seed: int) -> None:
    draw = random.Random(seed)
    refused = 0
    for _ in range(100):
        asked = random_pod(draw)
        by_cel, by_us = await refusal_by_cel(kube, asked), refusal_by_us(asked)
        refused += bool(by_cel)
        if by_cel and " more)" not in by_us:
            told = iter(faults(by_us))
            assert all(fault in told for fault in faults(by_cel)), (asked, by_cel, by_us)
        assert not by_cel or by_us, (asked, by_cel)
    assert 20 < refused < 95


def random_pod(draw: random.Random) -> dict[str, Any]:
    """Words of all kinds, right and wrong, in any company."""
    spec = draw.choice(['{"numaTopologyPolicy":"%s"}', '{"numaTopologyPolicy":"%s","x":"y"}', "%s", '{"a":{"b":"%s"}}'])
    policies = ("SingleNUMANode", "Restricted", "BestEffort", "Single", "")
    words = {
        "cpuset-scheduler": ("required", "required", "no"),
        ACK: tuple(spec % policy for policy in policies),
        KOORDINATOR: tuple(spec % policy for policy in policies),
        keys.POLICY: policies,
        keys.EXCLUSIVE: ("Required", "Preferred", "x"),
        keys.CPUS: ("exclusive", "shared", "x"),
        keys.CPU_RULE: ("spread", "full-cores", "x"),
        keys.MEMORY: ("bind", "prefer", "off", "x"),
        keys.GPU_HCA: ("PIX", "NODE", "x"),
        "cpu-policy": ("x",),
    }
    annotations = {key: draw.choice(values) for key, values in words.items() if draw.random() < 0.25}
    containers = [random_container(draw, f"c{i}") for i in range(draw.randint(1, 3))]
    init = tuple(random_container(draw, f"i{i}", init=True) for i in range(draw.choice((0, 0, 1, 2))))
    labels = {"gpu-topology": "x"} if draw.random() < 0.1 else {}
    more = {"hostNetwork": True} if draw.random() < 0.7 else {}
    return pod(*containers, init=init, annotations=annotations, labels=labels, **more)


def random_container(draw: random.Random, name: str, *, init: bool = False) -> dict[str, Any]:
    amounts = {
        "cpu": ("1", "2", "2", "500m", "2000m", "0"),
        "memory": ("1Gi", "1Gi", "0"),
        "aliyun.com/gpu": ("1", "0"),
        "nvidia.com/gpu": ("1",),
        "rdma/hca": ("1",),
        "aliyun.com/gpu-mem": ("4",),
    }
    chances = {"cpu": 0.9, "memory": 0.7, "aliyun.com/gpu": 0.3}
    limits = {key: draw.choice(values) for key, values in amounts.items() if draw.random() < chances.get(key, 0.1)}
    requests = {**limits, **({"cpu": "1"} if limits.get("cpu") == "2" and draw.random() < 0.2 else {})}
    made = container(name, limits, requests=requests)
    if init and draw.random() < 0.5:
        made["restartPolicy"] = "Always"
    return made

"""Annotations of all families: what they mean, which agree, and what is refused by name."""

import json

import pytest

from numaplace.model.proximity import Level
from numaplace.model.request import CpuMode, CpuRule, Exclusivity, MemoryMode, PodRequest, Policy
from tests.objects import admitted, container, refused

ACK = "scheduling.alibabacloud.com/numa-topology-spec"
KOORDINATOR = "scheduling.koordinator.sh/numa-topology-spec"
POLICY, EXCLUSIVE = "numaplace.dev/policy", "numaplace.dev/exclusive"
MAIN = {"cpu": "4", "memory": "1Gi", "aliyun.com/gpu": 1}


def spec(policy: str, exclusive: str | None = None) -> str:
    fields = {"numaTopologyPolicy": policy}
    return json.dumps(fields if exclusive is None else {**fields, "singleNUMANodeExclusive": exclusive})


def asked(annotations: dict[str, str]) -> PodRequest:
    return admitted(container(limits=MAIN), annotations=annotations)


def complaint(annotations: dict[str, str]) -> str:
    return refused(container(limits=MAIN), annotations=annotations)


@pytest.mark.parametrize("key", [ACK, KOORDINATOR])
@pytest.mark.parametrize("policy", ["SingleNUMANode", "Restricted", "BestEffort"])
def test_a_policy_can_be_named_in_both_json_families(key: str, policy: str) -> None:
    assert asked({key: spec(policy)}).policy == Policy(policy)


@pytest.mark.parametrize("policy", ["SingleNUMANode", "Restricted", "BestEffort"])
def test_a_policy_can_be_named_flat(policy: str) -> None:
    assert asked({POLICY: policy}).policy == Policy(policy)


@pytest.mark.parametrize(
    ("annotations", "exclusivity"),
    [
        ({ACK: spec("SingleNUMANode")}, Exclusivity.REQUIRED),
        ({ACK: spec("SingleNUMANode", "Required")}, Exclusivity.REQUIRED),
        ({ACK: spec("SingleNUMANode", "Preferred")}, Exclusivity.PREFERRED),
        ({POLICY: "Restricted"}, Exclusivity.REQUIRED),
        ({POLICY: "Restricted", EXCLUSIVE: "Preferred"}, Exclusivity.PREFERRED),
        ({ACK: spec("Restricted"), EXCLUSIVE: "Preferred"}, Exclusivity.PREFERRED),
        ({"cpuset-scheduler": "required"}, Exclusivity.PREFERRED),
        ({}, Exclusivity.PREFERRED),
    ],
)
def test_a_named_policy_is_exclusive_unless_told_otherwise(
    annotations: dict[str, str], exclusivity: Exclusivity
) -> None:
    assert asked(annotations).exclusivity is exclusivity


@pytest.mark.parametrize(
    ("annotations", "mode"),
    [
        ({}, CpuMode.FLOATING),
        ({POLICY: "BestEffort"}, CpuMode.CONFINED),
        ({POLICY: "BestEffort", "numaplace.dev/cpus": "shared"}, CpuMode.CONFINED),
        ({"cpuset-scheduler": "required"}, CpuMode.EXCLUSIVE),
        ({"numaplace.dev/cpus": "exclusive"}, CpuMode.EXCLUSIVE),
        ({"numaplace.dev/cpus": "exclusive", "cpuset-scheduler": "required"}, CpuMode.EXCLUSIVE),
        ({"numaplace.dev/cpus": "shared"}, CpuMode.FLOATING),
    ],
)
def test_cpus_are_owned_confined_or_floating(annotations: dict[str, str], mode: CpuMode) -> None:
    assert asked(annotations).cpu_mode is mode


def test_exclusive_cpus_without_a_policy_name_none() -> None:
    request = asked({"cpuset-scheduler": "required"})
    assert (request.policy, request.cpus) == (Policy.NONE, 4)


def test_our_gpus_without_annotations_are_planned_and_their_cpus_float() -> None:
    request = asked({})
    assert (request.policy, request.cpu_mode, request.gpus, request.is_planned) == (
        Policy.NONE,
        CpuMode.FLOATING,
        1,
        True,
    )


@pytest.mark.parametrize("rule", list(CpuRule))
def test_the_cpu_rule_is_taken_over(rule: CpuRule) -> None:
    assert asked({"numaplace.dev/cpu-rule": rule.value, "cpuset-scheduler": "required"}).cpu_rule is rule


@pytest.mark.parametrize("mode", list(MemoryMode))
def test_the_memory_mode_is_taken_over(mode: MemoryMode) -> None:
    assert asked({"numaplace.dev/memory": mode.value, POLICY: "Restricted"}).memory_mode is mode


@pytest.mark.parametrize("level", ["PIX", "PXB", "PHB", "NODE"])
def test_the_level_between_gpu_and_hca_is_a_condition(level: str) -> None:
    both = container(limits={**MAIN, "rdma/hca": 1})
    request = admitted(both, annotations={"numaplace.dev/gpu-hca": level}, hostNetwork=True)
    assert request.gpu_hca is Level[level]


AGREEING = [
    {ACK: spec("Restricted"), KOORDINATOR: spec("Restricted"), POLICY: "Restricted"},
    {ACK: spec("Restricted", "Preferred"), KOORDINATOR: spec("Restricted"), EXCLUSIVE: "Preferred"},
]


@pytest.mark.parametrize("annotations", AGREEING)
def test_synonyms_that_agree_are_fine(annotations: dict[str, str]) -> None:
    assert asked(annotations).policy is Policy.RESTRICTED


REFUSED = [
    ({"cpuset-scheduler": "true"}, "annotation cpuset-scheduler: found 'true'; expected required"),
    ({"cpuset-scheduler": "Required"}, "found 'Required'; expected required"),
    ({"cpuset-scheduler": ""}, "found ''; expected required"),
    ({"numaplace.dev/cpus": "all"}, "annotation numaplace.dev/cpus: found 'all'; expected exclusive or shared"),
    ({"numaplace.dev/cpus": "shared", "cpuset-scheduler": "required"},
     "annotation numaplace.dev/cpus: found 'shared' while cpuset-scheduler says 'required'"),
    ({POLICY: "single-numa-node"},
     "annotation numaplace.dev/policy: found 'single-numa-node'; expected SingleNUMANode, Restricted or BestEffort"),
    ({POLICY: "None"}, "found 'None'; expected SingleNUMANode, Restricted or BestEffort"),
    ({EXCLUSIVE: "Required"}, "annotation numaplace.dev/exclusive: found no policy beside it"),
    ({POLICY: "Restricted", EXCLUSIVE: "yes"}, "found 'yes'; expected Required or Preferred"),
    ({POLICY: "Restricted", ACK: spec("BestEffort")},
     f"annotation numaplace.dev/policy: found 'Restricted' while {ACK} numaTopologyPolicy says 'BestEffort'"),
    ({ACK: spec("BestEffort"), KOORDINATOR: spec("Restricted")},
     f"{KOORDINATOR} numaTopologyPolicy: found 'Restricted' while {ACK} numaTopologyPolicy says 'BestEffort'"),
    ({ACK: spec("Restricted", "Required"), EXCLUSIVE: "Preferred"}, "found 'Preferred' while"),
    ({ACK: "{}"}, f"annotation {ACK}: found {{}} without numaTopologyPolicy"),
    ({ACK: '{"singleNUMANodeExclusive": "Required"}'}, "found singleNUMANodeExclusive without numaTopologyPolicy"),
    ({ACK: '{"singleNUMANodeExclusive": "Required"}', POLICY: "Restricted"}, "without numaTopologyPolicy"),
    ({ACK: spec("Strict")}, f"{ACK} numaTopologyPolicy: found 'Strict'; expected SingleNUMANode, Restricted or"),
    ({ACK: spec("Restricted", "Always")}, "singleNUMANodeExclusive: found 'Always'; expected Required or Preferred"),
    ({ACK: '{"numaTopologyPolicy": 3}'}, "numaTopologyPolicy: found 3; expected SingleNUMANode"),
    ({ACK: '{"numaTopologyPolicy": null}'}, "numaTopologyPolicy: found null; expected SingleNUMANode"),
    ({ACK: '{"numaTopologyPolicy": "Restricted", "x": 1}'}, "found the unknown key 'x'; expected numaTopologyPolicy"),
    ({ACK: '{"numatopologypolicy": "Restricted"}'}, "found the unknown key 'numatopologypolicy'"),
    ({ACK: '{"numaTopologyPolicy": "Restricted", "numaTopologyPolicy": "Restricted"}'},
     "found numaTopologyPolicy 2 times; expected it once"),
    ({ACK: "SingleNUMANode"}, "expected a JSON object"),
    ({ACK: '["Restricted"]'}, "expected a JSON object"),
    ({"numaplace.dev/cpu-rule": "compact"}, "expected full-cores, full-cores-only or spread"),
    ({"numaplace.dev/memory": "strict"}, "numaplace.dev/memory: found 'strict'; expected prefer, bind or off"),
    ({"numaplace.dev/gpu-hca": "SYS"}, "annotation numaplace.dev/gpu-hca: found 'SYS'; expected PIX, PXB, PHB or NODE"),
    ({"numaplace.dev/gpu-hca": "PIX"}, "the Pod asks 1 aliyun.com/gpu and 0 rdma/hca; expected both"),
    ({"koordinator.sh/memoryLocality": '{"policy": "all"}'}, "policy: found 'all'; expected bestEffort or none"),
    ({"koordinator.sh/memoryLocality": '{"policy": "none", "migrateIntervalMinutes": -1}'},
     "migrateIntervalMinutes: found -1; expected a whole number of minutes"),
    ({"koordinator.sh/memoryLocality": '{"policy": "none", "migrateIntervalMinutes": "5"}'}, "expected a whole number"),
    ({"koordinator.sh/memoryLocality": '{"mode": "none"}'}, "found the unknown key 'mode'"),
]  # fmt: skip


@pytest.mark.parametrize(("annotations", "sentence"), REFUSED, ids=[sentence[-60:] for _, sentence in REFUSED])
def test_what_cannot_be_meant_is_refused_by_name(annotations: dict[str, str], sentence: str) -> None:
    assert sentence in complaint(annotations)


def test_memory_locality_as_koordinator_writes_it_is_let_in() -> None:
    assert asked({"koordinator.sh/memoryLocality": '{"policy": "bestEffort", "migrateIntervalMinutes": 10}'}).gpus == 1


def test_every_fault_is_in_the_one_sentence() -> None:
    text = complaint({"cpuset-scheduler": "x", POLICY: "y", "numaplace.dev/memory": "z"})
    assert text.startswith("Pod ns/p: ")
    assert text.count("; expected ") == 3


def test_a_pod_full_of_faults_gets_a_sentence_of_bounded_length() -> None:
    keys = {f"k{number}": 1 for number in range(200)}
    text = complaint({ACK: json.dumps({**keys, "numaTopologyPolicy": "x" * 5000})})
    assert "more)" in text
    assert len(text) < 1500

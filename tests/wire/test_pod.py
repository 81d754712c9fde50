"""Pod objects: what is read, what defaults the API server would give, and how a mistake is named."""

from typing import Any

import pytest

from numaplace.model.errors import InputError
from numaplace.model.pod import JsonField
from numaplace.model.request import ContainerKind
from numaplace.model.rules import Operator, PodTerm, Requirement, Toleration
from numaplace.wire.pod import decode
from tests.objects import a_pod, container, pod_object, sidecar


def test_containers_keep_their_order_and_kind() -> None:
    pod = a_pod(container("app"), init=(container("fetch"), sidecar("proxy", {"cpu": "1"}), container("warm")))
    assert [(one.name, one.kind) for one in pod.containers] == [
        ("fetch", ContainerKind.INIT),
        ("proxy", ContainerKind.SIDECAR),
        ("warm", ContainerKind.INIT),
        ("app", ContainerKind.APP),
    ]


def test_amounts_are_thousandths_and_a_limit_stands_for_a_missing_request() -> None:
    (one,) = a_pod(container(limits={"cpu": "1500m", "rdma/hca": 1}, requests={"cpu": 1})).containers
    assert (one.request_milli("cpu"), one.request_milli("rdma/hca"), one.request_milli("memory")) == (1000, 1000, 0)


def test_everything_that_is_not_written_has_its_default() -> None:
    pod = decode({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}, "pod.yaml")
    assert (pod.namespace, pod.uid, pod.scheduler, pod.priority) == ("default", "default/p", "default-scheduler", 0)
    assert not pod.host_network
    assert pod.node_name is None
    assert not pod.ended


def test_every_optional_field_may_be_null() -> None:
    thing = pod_object(
        {"name": "c", "resources": None, "resizePolicy": None}, affinity=None, tolerations=None, overhead=None
    )
    thing["metadata"].update(creationTimestamp=None, labels=None, annotations=None, ownerReferences=None)
    thing["status"] = None
    assert decode(thing, "pod.yaml").containers[0].name == "c"


def test_an_object_of_the_api_tells_its_age_node_owner_and_end() -> None:
    thing = pod_object(nodeName="e01", priority=7, hostNetwork=True, schedulerName="volcano")
    thing["metadata"].update(
        uid="u-1",
        creationTimestamp="1970-01-02T00:00:00Z",
        ownerReferences=[{"kind": "Node", "name": "x"}, {"kind": "Job", "name": "j", "controller": True}],
    )
    thing["status"] = {"phase": "Succeeded"}
    pod = decode(thing, "pod.yaml")
    assert (pod.uid, pod.created_s, pod.node_name, pod.owner) == ("u-1", 86400.0, "e01", "Job/j")
    assert (pod.priority, pod.host_network, pod.scheduler, pod.ended) == (7, True, "volcano", True)


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000),
        ({"priorityClassName": "batch"}, 50),
        ({"priorityClassName": "unheard-of"}, 0),
        ({"priorityClassName": "batch", "priority": 3}, 3),
        ({"priority": -(2**31)}, -(2**31)),
    ],
)
def test_a_priority_class_gives_its_value(spec: dict[str, Any], priority: int) -> None:
    known = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000, "batch": 50}
    assert decode(pod_object(**spec), "pod.yaml", known).priority == priority


def test_resources_of_the_whole_pod_and_overhead_are_kept_apart() -> None:
    pod = a_pod(resources={"limits": {"cpu": 4, "memory": "1Gi"}, "requests": {"cpu": 2}}, overhead={"cpu": "250m"})
    assert pod.pod_level_milli == {"cpu": 2000, "memory": 2**30 * 1000}
    assert pod.overhead_milli == {"cpu": 250}


def test_containers_that_may_be_resized_are_named() -> None:
    resize = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    memory = [{"resourceName": "memory", "restartPolicy": "NotRequired"}]
    pod = a_pod(container("a", resizePolicy=resize), container("b", resizePolicy=memory))
    assert pod.resizable_cpu == ("a",)


def test_a_json_annotation_is_kept_to_the_letter() -> None:
    text = '{"numaTopologyPolicy": "Restricted", "numaTopologyPolicy": 3, "deep": {"a": [1]}}'
    pod = a_pod(annotations={"scheduling.alibabacloud.com/numa-topology-spec": text})
    document = pod.documents["scheduling.alibabacloud.com/numa-topology-spec"]
    assert document.fields == (
        JsonField("numaTopologyPolicy", "Restricted"),
        JsonField("numaTopologyPolicy", "3", is_text=False),
        JsonField("deep", "an object", is_text=False),
    )


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"x"', "{'a': 1}", "[" * 10_000, '{"a": NaN}', "x" * 300_000])
def test_an_annotation_that_is_no_object_is_a_fault_and_no_error(text: str) -> None:
    pod = a_pod(annotations={"koordinator.sh/memoryLocality": text})
    fault = pod.documents["koordinator.sh/memoryLocality"].fault
    assert "object" in fault
    assert len(fault) < 200


def test_node_affinity_and_tolerations_are_taken_over() -> None:
    zone = {"key": "zone", "operator": "In", "values": ["a", "b"]}
    here = {"key": "metadata.name", "operator": "In", "values": ["e01"]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [zone], "matchFields": [here]}, {}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "preference": {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}]}}
            ],
        }
    }
    rules = a_pod(affinity=affinity, tolerations=[{"operator": "Exists"}], nodeSelector={"a": "b"}).rules
    assert rules.required_terms is not None
    first, empty = rules.required_terms
    assert first.labels == (Requirement("zone", Operator.IN, ("a", "b")),)
    assert first.fields == (Requirement("metadata.name", Operator.IN, ("e01",)),)
    assert empty.labels == empty.fields == ()
    assert rules.preferred_terms[0].weight == 5
    assert rules.tolerations == (Toleration("", "Exists", "", ""),)
    assert rules.node_selector == {"a": "b"}


def anti_affinity(**term: object) -> PodTerm:
    """The one anti-affinity term of a Pod with labels app=x, tier=t in namespace ns."""
    required = [{"topologyKey": "kubernetes.io/hostname", **term}]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    (found,) = a_pod(affinity=affinity, labels={"app": "x", "tier": "t"}).rules.anti_affinity
    return found


def test_anti_affinity_without_namespaces_means_the_pods_own() -> None:
    assert anti_affinity(labelSelector={}).namespaces == ("ns",)
    assert anti_affinity(labelSelector={}, namespaces=["a"]).namespaces == ("a",)


def test_an_empty_namespace_selector_means_every_namespace() -> None:
    term = anti_affinity(labelSelector={}, namespaceSelector={})
    assert term.namespaces == ()
    assert term.namespace_selector is not None


def test_label_keys_of_a_term_become_requirements_with_the_pods_values() -> None:
    term = anti_affinity(
        labelSelector={"matchLabels": {"a": "b"}}, matchLabelKeys=["app", "absent"], mismatchLabelKeys=["tier"]
    )
    assert term.selector is not None
    assert term.selector.requirements == (
        Requirement("a", Operator.IN, ("b",)),
        Requirement("app", Operator.IN, ("x",)),
        Requirement("tier", Operator.NOT_IN, ("t",)),
    )


def node_affinity(term: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def expression(**one: object) -> dict[str, Any]:
    return node_affinity({"matchExpressions": [one]})


BROKEN = [
    (3, "pod.yaml: found the number 3; expected a mapping"),
    ({}, "pod.yaml: spec: found nothing; expected this field"),
    ({"spec": {"containers": [{"name": "c"}]}}, "pod.yaml: metadata.name: found nothing; expected the name of the Pod"),
    (pod_object(container("")), "name: found nothing; expected at most 63 lower-case letters"),
    (pod_object(name="Web"), "metadata.name: found 'Web'; expected at most 253 lower-case letters, digits, - and ."),
    (pod_object(name="a\nb"), r"metadata.name: found 'a\nb'"),
    (pod_object(namespace="x" * 64), "metadata.namespace: found 'xxxx"),
    (pod_object(container("a"), container("a")), "found two containers named 'a'"),
    (pod_object(container("a"), init=(container("a"),)), "found two containers named 'a'"),
    ({**pod_object(), "spec": {"containers": []}}, "spec.containers: found an empty list"),
    (pod_object({"name": 3}), "spec.containers[0].name: found the number 3; expected text"),
    (pod_object({"name": "c", "resources": []}), "spec.containers[0].resources: found a list; expected a mapping"),
    (pod_object(container(limits={"cpu": "x"})), "'main': resources.requests['cpu']: found 'x'; expected an amount"),
    (pod_object(annotations={"numaplace.dev/gate": False}), "metadata.annotations['numaplace.dev/gate']: found false"),
    (pod_object(hostNetwork="yes"), "spec.hostNetwork: found text 'yes'; expected true or false"),
    (pod_object(priority=2**31), "spec.priority: found 2147483648; expected a 32-bit whole number"),
    (pod_object(overhead={"cpu": -1}), "spec.overhead['cpu']: found -1"),
    (pod_object(affinity=expression(key="a", operator="Near")), "operator: found 'Near'; expected In, NotIn"),
    (pod_object(affinity=expression(key="a", operator="In")), "In: found 0 values, ''; expected at least one value"),
    (pod_object(affinity=expression(key="a", operator="Exists", values=["x"])), "expected no values"),
    (pod_object(affinity=expression(key="a", operator="Gt", values=["x"])), "expected one whole number"),
    (pod_object(affinity=expression(key="a", operator="Lt", values=["1", "2"])), "expected one whole number"),
    (pod_object(affinity=node_affinity({"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]})),
     "matchFields: found 'spec.x'"),
    (pod_object(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": []}}}),
     "nodeSelectorTerms: found an empty list"),
    (pod_object(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 0, "preference": {}}]}}), "weight: found 0; expected 1..100"),
    (pod_object(tolerations=[{"key": "a", "operator": "Is"}]), "operator: found 'Is'; expected Equal, Exists, Lt, Gt"),
    (pod_object(tolerations=[{"key": "a", "effect": "Never"}]), "effect: found 'Never'; expected NoSchedule"),
    (pod_object(tolerations=[{"value": "a"}]), "operator: found Equal without a key; expected Exists"),
    (pod_object(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]), "expected no value beside Exists"),
    (pod_object(tolerations=[{"key": "a", "operator": "Gt", "value": "b"}]), "expected a whole number beside Gt"),
]  # fmt: skip


@pytest.mark.parametrize(("thing", "sentence"), BROKEN, ids=[sentence[:50] for _, sentence in BROKEN])
def test_a_mistake_is_named_with_its_field(thing: object, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        decode(thing, "pod.yaml")
    assert sentence in str(raised.value)
    assert str(raised.value).startswith("pod.yaml: ")


def test_a_time_that_is_none_is_named() -> None:
    thing = pod_object()
    thing["metadata"]["creationTimestamp"] = "yesterday"
    with pytest.raises(InputError, match=r"creationTimestamp: found 'yesterday'; expected a time like"):
        decode(thing, "pod.yaml")

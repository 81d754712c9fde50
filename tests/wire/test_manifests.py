"""Manifest files: what becomes a Pod, under which name, what is passed over and what a writer is warned of."""

import json
from typing import Any

import pytest

from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.model.rules import NodeTerm, Operator, Requirement
from numaplace.wire.manifests import MAX_REPLICAS, Manifests, decode_manifests
from numaplace.wire.workload import expand, suffix_of
from tests.objects import container, pod_object

TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container()]}}
JOB = {"spec": {"template": TEMPLATE}}


def controller(kind: str, name: str = "web", api: str = "apps/v1", **spec: object) -> dict[str, Any]:
    """A controller in namespace ns with the usual template."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"template": TEMPLATE, **spec},
    }


def read(*objects: dict[str, Any]) -> Manifests:
    return decode_manifests("\n---\n".join(json.dumps(one) for one in objects), "f.yaml")


def names(*objects: dict[str, Any]) -> list[str]:
    return [pod.full_name for workload in read(*objects).workloads for pod in expand(workload)]


@pytest.mark.parametrize(
    ("thing", "count"),
    [
        (pod_object(), 1),
        (controller("Deployment"), 1),
        (controller("Deployment", replicas=3), 3),
        (controller("Deployment", replicas=0), 0),
        (controller("ReplicaSet", replicas=2), 2),
        (controller("ReplicationController", api="v1", replicas=2), 2),
        (controller("StatefulSet", replicas=4), 4),
        (controller("Job", api="batch/v1"), 1),
        (controller("Job", api="batch/v1", parallelism=4), 4),
        (controller("Job", api="batch/v1", parallelism=4, completions=2), 2),
        (controller("Job", api="batch/v1", completions=5), 1),
        (controller("Job", api="batch/v1", parallelism=4, suspend=True), 0),
        (controller("CronJob", api="batch/v1", jobTemplate={"spec": {"template": TEMPLATE, "parallelism": 3}}), 3),
        (controller("DaemonSet"), 0),  # one per node, and there is none
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else str(value),
)
def test_a_workload_is_the_pods_it_runs_at_one_time(thing: dict[str, Any], count: int) -> None:
    assert len(names(thing)) == count


def test_stateful_sets_and_indexed_jobs_number_their_pods() -> None:
    assert names(controller("StatefulSet", replicas=2)) == ["ns/web-0", "ns/web-1"]
    job = controller("Job", api="batch/v1", parallelism=2, completions=2, completionMode="Indexed")
    assert names(job) == ["ns/web-0", "ns/web-1"]


def test_other_pods_get_names_as_in_a_cluster_and_always_the_same() -> None:
    found = names(controller("Deployment", replicas=50))
    assert found == names(controller("Deployment", replicas=50))
    assert len(set(found)) == 50
    assert all(name.startswith("ns/web-") and len(name) == len("ns/web-") + 5 for name in found)
    assert found[0] != names(controller("ReplicaSet", replicas=1))[0]


def test_no_two_of_many_suffixes_are_equal() -> None:
    assert len({suffix_of("Deployment ns/web", index) for index in range(200_000)}) == 200_000


def test_uids_follow_from_namespace_and_name() -> None:
    (workload,) = read(controller("StatefulSet")).workloads
    (pod,) = expand(workload)
    assert (pod.uid, pod.owner, pod.rules.labels) == ("ns/web-0", "StatefulSet/web", {"app": "x"})


def test_a_daemon_set_puts_a_pinned_pod_on_each_given_node() -> None:
    (workload,) = read(controller("DaemonSet")).workloads
    pods = expand(workload, [NodeName("e01"), NodeName("e02")])
    assert [pod.name for pod in pods] == ["web-e01", "web-e02"]
    pin = NodeTerm(fields=(Requirement("metadata.name", Operator.IN, ("e01",)),))
    assert pods[0].rules.required_terms == (pin,)
    tolerated = {one.key for one in pods[0].rules.tolerations}
    assert "node.kubernetes.io/unschedulable" in tolerated
    assert "node.kubernetes.io/network-unavailable" not in tolerated


def test_lists_are_opened_even_in_lists() -> None:
    inner = {"kind": "List", "items": [controller("Deployment", name="b")]}
    assert len(names({"kind": "List", "items": [pod_object(name="a"), inner]})) == 2


def test_the_lists_of_the_api_leave_the_kind_of_items_out() -> None:
    item = {key: value for key, value in pod_object().items() if key not in ("kind", "apiVersion")}
    assert names({"apiVersion": "v1", "kind": "PodList", "items": [item]}) == ["ns/p"]


def test_yaml_documents_and_empty_ones_are_read_in_order() -> None:
    text = "# nothing\n---\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: c}]}\n---\n---\n" + json.dumps(
        pod_object(name="a")
    )
    assert [one.template.name for one in decode_manifests(text, "f.yaml").workloads] == ["b", "a"]


def test_other_kinds_are_counted_and_passed_over() -> None:
    volcano = {**controller("Job", api="batch.volcano.sh/v1alpha1"), "spec": {"tasks": []}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "m"}}
    found = read(claim, {**claim, "metadata": {"name": "n"}}, volcano, pod_object())
    assert found.skipped == {"PersistentVolumeClaim": 2, "Job.batch.volcano.sh": 1}
    assert len(found.workloads) == 1


def test_generated_names_differ() -> None:
    thing = pod_object()
    thing["metadata"] = {"generateName": "bench-"}
    first, second = names(thing, thing)
    assert first != second
    assert first.startswith("default/bench-")


def test_a_dump_of_everything_counts_each_pod_once() -> None:
    def owned(thing: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
        reference = {"kind": kind, "name": name, "controller": True}
        return {**thing, "metadata": {**thing["metadata"], "ownerReferences": [reference]}}

    deployment = controller("Deployment")
    replica_set = owned(controller("ReplicaSet", name="web-1"), "Deployment", "web")
    old = owned(controller("ReplicaSet", name="web-0", replicas=0), "Deployment", "web")
    pod = owned(pod_object(name="web-1-abc", nodeName="e01"), "ReplicaSet", "web-1")
    assert names(deployment, replica_set, old, pod) == ["ns/web-1-abc"]


def test_a_priority_class_of_the_text_gives_its_value() -> None:
    gold = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 9}
    base = {**gold, "metadata": {"name": "base"}, "value": 2, "globalDefault": True}
    found = read(pod_object(priorityClassName="gold"), pod_object(name="q"), gold, base)
    assert [one.template.priority for one in found.workloads] == [9, 2]
    assert found.warnings == ()


def test_an_unknown_priority_class_is_warned_of() -> None:
    (warning,) = read(pod_object(priorityClassName="gold")).warnings
    assert "priorityClassName gold is no built-in class and not in this text" in warning


def test_keys_on_the_controller_instead_of_its_template_are_warned_of() -> None:
    lost = controller("Deployment")
    lost["metadata"]["annotations"] = {"cpuset-scheduler": "required", "team": "x"}
    (warning,) = read(lost).warnings
    assert warning.startswith("f.yaml: document 1 (Deployment web): cpuset-scheduler on the Deployment itself")
    assert "the template's metadata" in warning


def test_a_job_that_runs_in_waves_is_warned_of() -> None:
    (warning,) = read(controller("Job", api="batch/v1", completions=5, parallelism=2)).warnings
    assert "2 of its 5 Pods run at one time" in warning


BROKEN = [
    ("3", "f.yaml: document 1: found 3; expected a Kubernetes object"),
    ("- a\n", "f.yaml: document 1: found a list; expected a Kubernetes object"),
    ("a: 1\n", "f.yaml: document 1: kind: found nothing; expected this field"),
    ("nodes: []\n", "f.yaml: document 1: found a nodes file; expected Kubernetes objects with apiVersion and kind"),
    ("kind: Pod\n", "document 1 (Pod without a name): metadata.name: found nothing"),
    ("kind: Pod\nmetadata: {name: p}\n", "document 1 (Pod p): spec: found nothing"),
    ("kind: Deployment\nmetadata: {name: d}\nspec: {}\n", "(Deployment d): spec.template: found nothing"),
    ("kind: Deployment\nmetadata: {name: d}\nspec: {replicas: two, template: {}}\n", "spec.replicas: found text 'two'"),
    ("kind: Deployment\nmetadata: {name: d}\nspec: {template: {}}\n", "(Deployment d): template: spec: found nothing"),
    ("kind: Deployment\nmetadata: {name: d}\nspec: {template: {metadata: 3}}\n", "template.metadata: found 3"),
    (json.dumps(controller("Deployment", replicas=-1)), f"number of Pods: found -1; expected 0..{MAX_REPLICAS}"),
    (json.dumps(controller("Deployment", replicas=10**9)), "number of Pods: found 1000000000"),
    ("kind: PriorityClass\nmetadata: {name: p}\nvalue: high\n", "value: found text 'high'; expected a whole number"),
    ("kind: List\nitems: 3\n", "items: found the number 3; expected a list"),
    ("kind: List\nitems: [3]\n", "document 1, item 1: found 3; expected a Kubernetes object"),
    (json.dumps(pod_object()) + json.dumps(pod_object()), "document 2 (Pod p): found Pod p a second time"),
]


@pytest.mark.parametrize(("text", "sentence"), BROKEN, ids=[sentence[-50:] for _, sentence in BROKEN])
def test_a_mistake_is_named_with_document_and_field(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        decode_manifests(text, "f.yaml")
    assert sentence in str(raised.value)


def test_lists_do_not_nest_for_ever() -> None:
    thing: dict[str, Any] = pod_object()
    for _ in range(20):
        thing = {"kind": "List", "items": [thing]}
    with pytest.raises(InputError, match="found lists in 10 lists"):
        read(thing)

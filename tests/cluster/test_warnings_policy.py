"""What has no effect is told to whoever writes it, in the words of the command line, and let in."""

import json
from typing import Any

import pytest

from numaplace.adapters.kube import Kube, Resource
from numaplace.decide.admit import warnings
from numaplace.model import keys
from numaplace.wire.manifests import decode_manifests
from numaplace.wire.pod import decode
from tests.cluster.chart import kubectl
from tests.cluster.control_plane import ControlPlane
from tests.cluster.stage import listed
from tests.objects import OURS, container, pod_object

POLICIES = Resource(
    "admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
LABELS = {"app": "a"}


async def warned(plane: ControlPlane, thing: dict[str, Any], *options: str) -> list[str]:
    """The warnings that kubectl shows a person who creates the object, which is let in."""
    config = plane.kubeconfig("admin", "system:masters")
    done = await kubectl(config, "create", "--dry-run=server", "-f", "-", *options, given=thing)
    assert done.returncode == 0, done.stderr
    return [line.partition("' with binding '")[2].partition("': ")[2] for line in done.stderr.splitlines()]


@pytest.mark.parametrize(
    "annotations",
    [
        {"numaplace.dev/polcy": "x"},
        {**OURS, keys.GATE: "on"},
        {keys.CPU_RULE: "spread", keys.POLICY: "BestEffort"},
        {keys.CPU_RULE: "spread", keys.GATE: "of", "numaplace.dev/" + "x" * 60: "y"},
    ],
    ids=["unknown key", "gate", "cpu-rule", "three"],
)
async def test_a_pod_is_warned_of_in_the_words_of_the_command_line(
    plane: ControlPlane, annotations: dict[str, str]
) -> None:
    pod = pod_object(container(limits={"cpu": "1"}, image="none"), annotations=annotations, namespace="default")
    said = await warned(plane, pod)
    assert said
    assert sorted(said) == sorted(warnings(decode(pod, "Pod")))


async def test_several_unknown_keys_are_named_together(plane: ControlPlane) -> None:
    annotations = {"numaplace.dev/a": "x", "numaplace.dev/b": "x"}
    pod = pod_object(container(image="none"), annotations=annotations, namespace="default")
    (said,) = await warned(plane, pod)
    assert "numaplace.dev/a" in said
    assert "numaplace.dev/b" in said
    assert said.endswith("are not known to numaplace and have no effect")


async def test_a_pod_as_it_should_be_is_warned_of_nothing(plane: ControlPlane) -> None:
    annotations = {**OURS, keys.CPU_RULE: "spread", keys.GATE: "off"}
    pod = pod_object(container(limits={"cpu": "1"}, image="none"), annotations=annotations, namespace="default")
    assert await warned(plane, pod) == []
    assert warnings(decode(pod, "Pod")) == ()


def controller(kind: str, own: dict[str, str], template: dict[str, str]) -> dict[str, Any]:
    """An object of that kind with annotations of its own and of its Pods."""
    group = {"CronJob": "batch/v1", "Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    pod: dict[str, Any] = {
        "metadata": {"labels": LABELS, "annotations": template},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    spec: dict[str, Any] = {"template": pod}
    if kind in ("Job", "CronJob"):
        pod["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = LABELS if kind == "ReplicationController" else {"matchLabels": LABELS}
    if kind == "StatefulSet":
        spec["serviceName"] = "s"
    if kind == "CronJob":
        spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": spec}}
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": {"name": "c", "namespace": "default", "annotations": own},
        "spec": spec,
    }


KINDS = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"]


@pytest.mark.parametrize("kind", KINDS)
async def test_keys_on_a_controller_itself_are_told(plane: ControlPlane, kind: str) -> None:
    (said,) = await warned(plane, controller(kind, {**OURS, "other": "x"}, {}))
    assert said == (
        f"{kind} default/c: cpuset-scheduler, numaplace.dev/policy on the {kind} itself never reaches its Pods; "
        "annotations for Pods belong into the template's metadata"
    )
    if kind != "ReplicationController":
        (same,) = decode_manifests(json.dumps(controller(kind, OURS, {})), "file").warnings
        assert same.partition("): ")[2] == said.partition("/c: ")[2]


@pytest.mark.parametrize("kind", KINDS)
async def test_keys_that_the_template_has_too_are_not(plane: ControlPlane, kind: str) -> None:
    assert await warned(plane, controller(kind, OURS, OURS)) == []
    assert await warned(plane, controller(kind, {"other": "x"}, OURS)) == []


async def test_what_a_controller_makes_is_not(plane: ControlPlane) -> None:
    made = controller("ReplicaSet", OURS, {})
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    assert await warned(plane, made) == []


async def test_the_api_server_finds_nothing_to_say_about_our_policies(admin: Kube) -> None:
    found = [one for one in await listed(admin, POLICIES, "") if one["metadata"]["name"].startswith("numaplace-")]
    assert len(found) >= 7
    for one in found:
        assert one["status"]["observedGeneration"] == one["metadata"]["generation"]
        assert one["status"]["typeChecking"].get("expressionWarnings", []) == [], one["metadata"]["name"]

"""The chart as helm sees it: clean, complete, and clear about what it does not take."""

import json
import re
from typing import Any

import pytest
import yaml

from numaplace import __version__
from numaplace.model import keys
from numaplace.model.settings import Settings, Weights
from numaplace.tools.cli.planner import planner
from tests.chart.rendered import CHART, IMAGE, SPACE, Thing, helm, named, template, things
from tests.recorded import ROOT

CLUSTER_WIDE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
EVERYTHING = {
    "cluster": {
        "schedulers": ["default-scheduler", "second"],
        "gpuResource": "gpu.example/card",
        "foreignGpuResources": ["nvidia.com/gpu", "amd.com/gpu"],
        "hcas": "exclusive",
        "podIpRdma": True,
        "enableLabel": "placed=yes",
        "sharingContainers": ["istio-proxy", "log"],
    },
    "admission": {"exemptNamespaces": ["kube-system"]},
    "agent": {"enabled": True},
    "planner": {
        "spread": True,
        "holdBack": True,
        "verbose": True,
        "weights": {"gpu-hca": 5, "packing": 0.5},
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "extender": {
            "pins": True,
            "ungateAfterSeconds": 600,
            "enabled": True,
            "clusterIP": "10.0.0.7",
            "schedulers": ["default-scheduler", "second"],
            "tlsSecret": "planner-tls",
            "clientAuthority": True,
        },
        "podAnnotations": {"a": "b"},
        "podLabels": {"c": "d"},
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"operator": "Exists"}],
    },
    "image": {
        "repository": "registry.example/numaplace",
        "digest": f"sha256:{'0' * 64}",
        "pullSecrets": [{"name": "s"}],
    },
}


def extender(**values: Any) -> dict[str, Any]:
    """Values with an extender."""
    return {"planner": {"extender": {"enabled": True, **values}}}


def scheduler_entry(**values: Any) -> Thing:
    """What the scheduler is to be told of an extender with these values."""
    told = named(things(values=extender(**values)), "ConfigMap", "numaplace-scheduler-config")["data"]
    (entry,) = yaml.safe_load(told["scheduler-config.yaml"])["extenders"]
    found: Thing = entry
    return found


def refusal(values: dict[str, Any], *options: str) -> str:
    """What helm says of values, or of a cluster, that the chart does not take."""
    done = template(*options, values=values)
    assert done.returncode != 0, done.stdout
    return done.stderr


def planner_pod(**values: Any) -> Thing:
    """The planner's Pods as the Deployment makes them."""
    found: Thing = named(things(values=values), "Deployment", "numaplace-planner")["spec"]["template"]
    return found


def test_helm_finds_nothing_wrong() -> None:
    for values in (IMAGE, EVERYTHING):
        done = helm("lint", "--strict", str(CHART), "--kube-version", "1.37.2", values=values)
        assert done.returncode == 0, done.stdout
        assert re.findall(r"\[(?:WARNING|ERROR)\].*", done.stdout) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"planner": {"replicas": "two"}}, "at '/planner/replicas': got string, want integer"),
        ({"planner": {"replica": 2}}, "at '/planner': additional properties 'replica' not allowed"),
        ({"planer": {}}, "additional properties 'planer' not allowed"),
        ({"cluster": {"hcas": "most"}}, "at '/cluster/hcas': value must be one of 'shared', 'exclusive'"),
        ({"cluster": {"gpuResource": "gpu"}}, "at '/cluster/gpuResource': 'gpu' does not match pattern"),
        ({"cluster": {"schedulers": []}}, "at '/cluster/schedulers': minItems: got 0, want 1"),
        ({"planner": {"weights": {"luck": 1}}}, "invalid propertyName 'luck'"),
        ({"planner": {"leaseSeconds": 1}}, "at '/planner/leaseSeconds': minimum: got 1, want 2"),
        (extender(ungateAfterSeconds=0.5), "at '/planner/extender/ungateAfterSeconds': minimum: got 0.5, want 1"),
        (
            extender(clientAuthority=True),
            "planner.extender.clientAuthority: found true without planner.extender.tlsSecret; expected both",
        ),
        (extender(port=8480), "planner.extender.port: found 8480, which is planner.port; expected another one"),
    ],
)
def test_wrong_values_are_refused_by_name(values: dict[str, Any], said: str) -> None:
    assert said in refusal({**IMAGE, **values})


def test_an_image_must_be_named() -> None:
    assert "image.repository: found nothing; expected the image that deploy/image/Containerfile makes" in refusal({})


def test_an_old_cluster_is_refused_with_the_reason() -> None:
    assert (
        "numaplace needs Kubernetes 1.36 or newer, since its gate is a MutatingAdmissionPolicy of "
        "admissionregistration.k8s.io/v1; found v1.35.9"
    ) in refusal(IMAGE, "--kube-version", "1.35.9")
    assert template("--kube-version", "1.36.0-beta.0", values=IMAGE).returncode == 0


def test_the_planner_takes_the_options_it_is_given() -> None:
    arguments = planner_pod(**EVERYTHING)["spec"]["containers"][0]["args"]
    assert arguments[0] == "planner"
    asked = planner.make_context("planner", arguments[1:]).params
    assert (asked["gpu_resource"], asked["foreign_gpus"]) == ("gpu.example/card", "nvidia.com/gpu,amd.com/gpu")
    assert (asked["hcas"], asked["enable_label"], asked["sharing"]) == ("exclusive", "placed=yes", "istio-proxy,log")
    assert asked["pod_ip_rdma"] is asked["spread"] is asked["hold_back"] is asked["verbose"] is True
    assert asked["weight"] == ("gpu-hca=5", "packing=0.5")
    assert asked["lease"] == f"{SPACE}/numaplace-planner"
    assert (asked["extender"], asked["extender_for"]) == ("[::]:8481", ("default-scheduler", "second"))
    assert [str(path) for path in asked["extender_tls"]] == ["/tls/tls.crt", "/tls/tls.key"]
    assert str(asked["extender_clients"]) == "/tls/ca.crt"


def test_every_option_of_the_planner_has_a_value() -> None:
    arguments = planner_pod(**EVERYTHING)["spec"]["containers"][0]["args"]
    given = {one.partition("=")[0] for one in arguments if one.startswith("--")}
    known = {option for one in planner.params for option in one.opts}
    assert known - given == {"--kubeconfig", "--context"}


def test_values_that_nobody_sets_are_the_planners_own_defaults() -> None:
    given = planner.make_context("planner", planner_pod()["spec"]["containers"][0]["args"][1:]).params
    deployed = {"listen", "advertise", "name", "lease", "enable_label"}
    assert {name: value for name, value in given.items() if name not in deployed} == {
        name: value for name, value in planner.make_context("planner", []).params.items() if name not in deployed
    }
    assert given["enable_label"] == f"{Settings().enable_label}={Settings().enable_value}"


def test_the_schema_knows_all_weights() -> None:
    weights = {name.replace("_", "-"): 1 for name in Weights.__slots__}
    assert template(values={**IMAGE, "planner": {"weights": weights}}).returncode == 0


def test_every_object_lies_in_the_namespace_of_the_release_or_in_none() -> None:
    for thing in things(values=EVERYTHING):
        wanted = None if thing["kind"] in CLUSTER_WIDE else SPACE
        assert thing["metadata"].get("namespace") == wanted, thing["kind"]
        assert thing["metadata"]["labels"]["app.kubernetes.io/name"] == "numaplace"


def test_the_pods_keep_to_pod_security_restricted() -> None:
    pods = [one["spec"]["template"]["spec"] for one in things(values=EVERYTHING) if "template" in one.get("spec", {})]
    assert pods
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_a_drain_leaves_one_planner() -> None:
    budget = named(things(), "PodDisruptionBudget", "numaplace-planner")["spec"]
    labels = planner_pod()["metadata"]["labels"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"]["matchLabels"].items() <= labels.items()
    alone = things(values={"planner": {"replicas": 1}})
    assert not [one for one in alone if one["kind"] == "PodDisruptionBudget"]  # it would forbid every drain


def test_it_is_ready_when_it_says_so() -> None:
    container = planner_pod()["spec"]["containers"][0]
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["ports"] == [{"name": "http", "containerPort": 8480}]
    assert "--listen=[::]:8480" in container["args"]


def test_the_schedulers_configuration_fits_what_is_installed() -> None:
    told = named(things(values=EVERYTHING), "ConfigMap", "numaplace-scheduler-config")["data"]
    (entry,) = yaml.safe_load(told["scheduler-config.yaml"])["extenders"]
    copied = yaml.safe_load((CHART / "files" / "scheduler-config.yaml").read_text())["extenders"][0]
    fitted = {"urlPrefix", "httpTimeout", "managedResources", "enableHTTPS", "tlsConfig"}
    assert entry["urlPrefix"] == "https://10.0.0.7:8481/v1"
    assert entry["httpTimeout"] == "5000ms"
    assert [one["name"] for one in entry["managedResources"]] == ["gpu.example/card", "rdma/hca"]
    assert {key: entry[key] for key in entry if key not in fitted} == {
        key: copied[key] for key in copied if key not in fitted
    }


def test_the_scheduler_is_told_of_tls_where_the_planner_speaks_it() -> None:
    assert {"enableHTTPS", "tlsConfig"} & scheduler_entry().keys() == set()
    server = {"serverName": f"numaplace-extender.{SPACE}.svc", "caFile": "/etc/kubernetes/numaplace/ca.crt"}
    client = {
        "certFile": "/etc/kubernetes/numaplace/client.crt",
        "keyFile": "/etc/kubernetes/numaplace/client.key",
    }
    for values, trust in ({}, server), ({"clientAuthority": True}, server | client):
        entry = scheduler_entry(tlsSecret="planner-tls", **values)
        assert entry["urlPrefix"].startswith("https://")
        assert (entry["enableHTTPS"], entry["tlsConfig"]) == (True, trust)
        page = (ROOT / "docs" / "reference" / "extender.md").read_text()
        assert [text for text in trust.values() if text.replace(SPACE, "NAMESPACE") not in page] == []


@pytest.mark.parametrize(
    ("address", "host"), [("", f"numaplace-extender.{SPACE}.svc"), ("10.0.0.7", "10.0.0.7"), ("fd00::1", "[fd00::1]")]
)
def test_an_address_of_either_family_makes_a_url(address: str, host: str) -> None:
    assert scheduler_entry(clusterIP=address)["urlPrefix"] == f"http://{host}:8481/v1"


def test_the_extender_answers_until_its_service_has_dropped_the_pod() -> None:
    def lifecycle(**values: Any) -> object:
        return planner_pod(**values)["spec"]["containers"][0].get("lifecycle")

    assert lifecycle(**extender()) == {"preStop": {"sleep": {"seconds": 2}}}
    assert lifecycle() is None


def test_only_a_planner_that_the_scheduler_asks_may_bind() -> None:
    def binds(values: dict[str, Any]) -> bool:
        return "pods/binding" in str(named(things(values=values), "ClusterRole", "numaplace-planner")["rules"])

    assert binds(EVERYTHING)
    assert not binds({})
    assert "numaplace-extender" not in {one["metadata"]["name"] for one in things()}


def test_a_digest_wins_over_the_tag() -> None:
    image = {"repository": "r.example/n", "tag": "1", "digest": f"sha256:{'a' * 64}"}
    assert planner_pod(image=image)["spec"]["containers"][0]["image"] == f"r.example/n@sha256:{'a' * 64}"
    assert planner_pod(image={"repository": "r.example/n"})["spec"]["containers"][0]["image"] == "r.example/n:0.1.0"


def test_what_is_not_wanted_is_not_there() -> None:
    assert "ServiceMonitor" not in {one["kind"] for one in things()}
    assert "ServiceMonitor" in {one["kind"] for one in things(values=EVERYTHING)}
    bare = things(values={"admission": {"enabled": False}})
    assert not [one["kind"] for one in bare if "AdmissionPolicy" in one["kind"]]


def test_the_resource_of_reports_is_installed_only_where_it_is_missing() -> None:
    """Helm creates what lies in crds/ if it is not there, and never changes or deletes it."""
    (crd,) = [one for one in things("--include-crds") if one["kind"] == "CustomResourceDefinition"]
    assert crd["metadata"]["name"] == "noderesourcetopologies.topology.node.k8s.io"
    assert not [one for one in things() if one["kind"] == "CustomResourceDefinition"]


@pytest.mark.parametrize("policy", ["numaplace-warnings", "numaplace-controllers"])
def test_the_policies_know_every_key_of_ours(policy: str) -> None:
    told = json.dumps(named(things(), "ValidatingAdmissionPolicy", policy))
    ours = {*keys.OWN_KEYS, *keys.JSON_KEYS, keys.CPUSET_SCHEDULER}
    assert [key for key in sorted(ours) if f'\\"{key}\\"' not in told] == []


def test_the_version_is_that_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__

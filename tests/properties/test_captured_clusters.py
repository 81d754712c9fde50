"""A captured cluster says the same as the cluster, with and without its names, whoever the Pods are."""

import json
import random
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from numaplace.model.errors import InputError
from numaplace.model.settings import Settings
from numaplace.tools.cli.paper import read_nodes, read_pods
from numaplace.tools.report.outcome import Outcome
from numaplace.tools.sim.arrivals import intake_of
from numaplace.tools.sim.contenders import contender
from numaplace.tools.sim.play import play
from numaplace.wire.catalog import ClaimObject, NamespaceObject, StorageClassObject, VolumeObject
from numaplace.wire.cluster import ClusterObjects, decode_cluster
from numaplace.wire.nodes import NodeObject, ReportObject
from numaplace.wire.pod_object import PodObject
from numaplace.wire.trace import Wishes
from tests.cluster.nodes import described, node_object, report_object
from tests.cluster.random_pods import CLASSES, NODES, random_pods
from tests.tools.live.console import capture_of

T = TypeVar("T")
CLAIM = {"volumeName": "pv-7", "storageClassName": "fast", "accessModes": ["ReadWriteOncePod"]}
_HERE = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["cut-1"]}
ON_CUT_1 = {"required": {"nodeSelectorTerms": [{"matchExpressions": [_HERE]}]}}
AT_S = 1_772_445_600.0
SEEDS = range(6)


def cluster(seed: int, count: int = 30) -> ClusterObjects:
    """Nodes and Pods as an API server would tell them."""
    draw, pods = random.Random(seed), random_pods(seed, count, "team-a")
    for number, pod in enumerate(pods):
        pod["spec"]["priority"] = CLASSES.get(pod["spec"].get("priorityClassName", ""), 0)
        when = f"2026-03-02T10:00:{draw.randrange(60):02}Z"
        pod["metadata"] |= {"uid": f"{number:08x}-0000-4000-8000-000000000000", "creationTimestamp": when}
        pod["metadata"]["labels"] = {"team": "blue"}
        pod["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    nodes = described(NODES)
    return ClusterObjects(
        tuple(typed(node_object(node), NodeObject) for node in nodes),
        tuple(typed(report_object(node, "some"), ReportObject) for node in nodes),
        tuple(typed(pod, PodObject) for pod in pods),
        AT_S,
        (
            typed({"metadata": {"name": "team-a", "labels": {"tier": "gold"}}}, NamespaceObject),
            typed({"metadata": {"name": "scratch", "namespace": "team-a"}, "spec": CLAIM}, ClaimObject),
            typed({"metadata": {"name": "pv-7"}, "spec": {"nodeAffinity": ON_CUT_1}}, VolumeObject),
            typed({"metadata": {"name": "fast"}, "volumeBindingMode": "Immediate"}, StorageClassObject),
        ),
    )


def typed(thing: dict[str, Any], kind: type[T]) -> T:
    return msgspec.json.decode(msgspec.json.encode(thing), type=kind)


def text_of(objects: ClusterObjects) -> str:
    return capture_of(objects)


def anonymised(objects: ClusterObjects) -> ClusterObjects:
    return decode_cluster(capture_of(objects, nameless=True), "nameless")


def outcome(objects: ClusterObjects, folder: Path) -> Outcome:
    """What `simulate` makes of the capture."""
    path, settings = str(folder / "capture.json"), Settings()
    Path(path).write_text(text_of(objects))
    state = read_nodes([path], settings).state
    pods = read_pods([path], state.nodes.values(), Wishes(), settings).pods
    intake = intake_of(((one.pod, 0.0, None) for one in pods), settings)
    return play(intake.arrivals, contender("numaplace", state, settings, seed=0))


def choices(found: Outcome) -> list[tuple[object, ...]]:
    """Who got what in the order of decisions, in numbers alone."""
    nodes, rows = sorted(found.state.nodes), list[tuple[object, ...]]()
    for one in found.landings:
        place = one.allocation
        assert place is not None
        cards = [gpu.pci for gpu in place.gpus], [hca.name for hca in place.hcas]
        rows.append((nodes.index(one.node), place.numas, str(place.cpus), cards))
    return rows + [(one.refusal.code, one.request.created_s if one.request else 0.0) for one in found.unplaced]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_written_is_read_again_and_written_alike(seed: int) -> None:
    text = text_of(cluster(seed))
    read = decode_cluster(text, "capture")
    assert read.at_s == AT_S
    assert len(read.catalog or ()) == 4
    assert text_of(read) == text


@pytest.mark.parametrize("seed", SEEDS)
def test_names_decide_nothing_but_between_equals(seed: int, tmp_path: Path) -> None:
    objects = cluster(seed)
    nameless = anonymised(objects)
    assert choices(outcome(nameless, tmp_path)) == choices(outcome(objects, tmp_path))
    assert len(choices(outcome(objects, tmp_path))) == len(objects.pods)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_somebody_named_is_left(seed: int) -> None:
    objects = cluster(seed)
    text = text_of(anonymised(objects))
    named = {
        "team-a",
        "blue",
        '"team"',
        "cut-1",
        "paged-2",
        "kubectl",
        "proxy",
        "fetch",
        "scratch",
        "pv-7",
        "fast",
        "gold",
        "tier",
        '"kind":"cut"',
    }
    named |= {f'"{pod.metadata.name}"' for pod in objects.pods}
    assert [name for name in sorted(named) if name in text] == []
    assert anonymised(anonymised(objects)) == anonymised(objects)


def test_what_kubectl_prints_is_read_too() -> None:
    objects = cluster(1)
    listed = {"apiVersion": "v1", "kind": "List", "items": json.loads(text_of(objects))["items"]}
    other = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    read = decode_cluster(json.dumps({**listed, "items": [other, *listed["items"]]}), "dump")
    assert (len(read.nodes), len(read.reports), len(read.pods)) == (4, 4, 30)
    pods = json.dumps({"kind": "PodList", "items": [{"metadata": {"name": "p"}, "spec": {"containers": []}}]})
    both = decode_cluster(text_of(objects) + pods, "two documents")
    assert len(both.pods) == 31


@pytest.mark.parametrize("text", ["[]", "a: 1", '{"items": 1}', '{"kind": "Pod"}', "", '{"items": [1]}', "[" * 9999])
def test_what_is_no_cluster_is_told_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_cluster(text, "file")
    assert str(caught.value).startswith("file")

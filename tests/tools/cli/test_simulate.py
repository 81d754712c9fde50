"""`numaplace simulate` and `explain` as a person runs them: every kind of input, every output, every mistake."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from numaplace.adapters.tree_files import write_tree
from numaplace.decide.discover.describe import tree_of
from numaplace.model.errors import InputError
from numaplace.tools.cli.explain import explain
from numaplace.tools.cli.simulate import simulate
from numaplace.wire.machine import discovered, parse_machine
from numaplace.wire.topology import encode
from tests.recorded import ROOT

EXAMPLES = ROOT / "deploy" / "examples"
MANIFESTS = ("pod-example", "deployment-tgi-numa", "deployment-tgi-plain", "job-hps-benchmark")
NODES = "nodes:\n- {name: n-#, count: 2, machine: 2pkg 32cpu 64GiB 4gpu, labels: {ack.node.gpu.schedule: topology}}\n"
PODS = """\
name,arrives_s,gpu,cpu,memory,policy,cpus
a,0,2,4,1Gi,SingleNUMANode,exclusive
b,1,3,4,1Gi,SingleNUMANode,exclusive
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "pods.csv").write_text(PODS)
    (tmp_path / "pod.yaml").write_text(POD)
    return tmp_path


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(simulate, ["--nodes", "nodes.yaml", *arguments], catch_exceptions=True)


def examples(*arguments: str) -> Result:
    pods = [part for name in MANIFESTS for part in ("--pods", str(EXAMPLES / f"{name}.yaml"))]
    return CliRunner().invoke(simulate, ["--nodes", str(EXAMPLES / "nodes.yaml"), *pods, *arguments])


def test_the_four_manifests_lie_where_they_belong() -> None:
    document = json.loads(examples("-o", "json").stdout)
    pods = {pod["pod"].partition("/")[2]: pod for pod in document["pods"]}
    ours = [pod for pod in pods.values() if pod["chosen"]]
    assert len(pods) == 4
    assert document["unplaced"] == []
    assert all(pod["node"].startswith("lingjun") and len(pod["numas"]) == 1 and pod["aligned"] for pod in ours)
    assert [(len(pod["gpus"]), pod["policy"]) for pod in ours] == [(4, "SingleNUMANode")] * 2
    others = {name: pod["node"] for name, pod in pods.items() if not pod["chosen"]}
    assert set(others.values()) == {"plain-1", "plain-2"}
    assert {name.rpartition("-")[0] for name in others} == {"tgi-deployment-basic", "hps-benchmark"}


def test_the_table_says_which_pods_were_placed_without_care() -> None:
    text = examples().stdout
    _, _, rest = text.partition("Placed without NUMA care")
    assert "tgi-deployment-basic" in rest
    assert "8 nvidia.com/gpu, 1 rdma/hca" in rest
    assert "Pods placed  4 of 4" in rest


def test_the_page_is_written_where_it_is_wanted(folder: Path) -> None:
    result = ran("--pods", "pods.csv", "-o", "html", "--to", "map.html")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (folder / "map.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in folder.iterdir()) == ["map.html", "nodes.yaml", "pod.yaml", "pods.csv"]


@pytest.mark.usefixtures("folder")
def test_equal_input_gives_equal_reports_but_for_the_time() -> None:
    first, second = (
        json.loads(ran("--pods", "pods.csv", "-o", "json", "--against", "kubelet").stdout) for _ in range(2)
    )
    for document in (first, second):
        for run in (document, *document["compared"]):
            del run["elapsed_s"]
    assert first == second


@pytest.mark.usefixtures("folder")
def test_several_ways_are_compared_in_the_order_asked() -> None:
    document = json.loads(ran("--pods", "pods.csv", "-o", "json", "--against", "none", "--against", "best-fit").stdout)
    assert [run["contender"] for run in document["compared"]] == ["none", "best-fit"]


def test_packed_files_and_standard_input_are_read_too(folder: Path) -> None:
    (folder / "pods.csv.gz").write_bytes(gzip.compress(PODS.encode()))
    plain = ran("--pods", "pods.csv", "-o", "json").stdout
    packed = ran("--pods", "pods.csv.gz", "-o", "json").stdout
    piped = CliRunner().invoke(simulate, ["--nodes", "nodes.yaml", "--pods", "-", "-o", "json"], input=PODS).stdout
    assert json.loads(plain)["pods"] == json.loads(packed)["pods"] == json.loads(piped)["pods"]


def test_a_dump_of_nodes_and_reports_is_a_cluster(folder: Path) -> None:
    topology = encode(discovered("2pkg 32cpu 64GiB 4gpu").topology).decode()
    allocatable = {"cpu": "32", "memory": "64Gi", "aliyun.com/gpu": "4", "pods": "110"}
    labels = {"ack.node.gpu.schedule": "topology"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "real", "labels": labels},
        "status": {"allocatable": allocatable},
    }
    report = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "real"},
        "attributes": [{"name": "numaplace.dev/topology", "value": topology}],
    }
    (folder / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, report]}))
    result = CliRunner().invoke(simulate, ["--nodes", "dump.json", "--pods", "pods.csv", "-o", "json"])
    assert [(pod["pod"], pod["node"]) for pod in json.loads(result.stdout)["pods"]] == [("default/a", "real")]


def test_a_captured_machine_is_an_enabled_node(folder: Path) -> None:
    write_tree(tree_of(parse_machine("2pkg 32cpu 64GiB 4gpu")), folder / "captured")
    result = CliRunner().invoke(simulate, ["--nodes", "captured", "--pods", "pods.csv", "-o", "json"])
    assert [(pod["node"], pod["numas"]) for pod in json.loads(result.stdout)["pods"]] == [("captured", [0])]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "placed"), [(("--hcas", "exclusive"), 1), (("--enable-label", "pool=numa"), 0), (("--spread",), 1)]
)
def test_the_operators_choices_reach_the_nodes(options: tuple[str, ...], placed: int) -> None:
    assert len(json.loads(ran("--pods", "pods.csv", "-o", "json", *options).stdout)["pods"]) == placed


@pytest.mark.parametrize(
    ("arguments", "files", "complaint"),
    [
        (("--pods", "absent.yaml"), {}, "absent.yaml: found no such file or directory"),
        (("--pods", "."), {}, ".: found a folder; expected a file"),
        (("--pods", "empty.yaml"), {"empty.yaml": ""}, "empty.yaml: found nothing that makes Pods"),
        (("--pods", "bad.yaml"), {"bad.yaml": "a: [1"}, "bad.yaml, line 2: found did not find"),
        (("--pods", "bad.yaml"), {"bad.yaml": POD.replace("name: a", "nome: a")}, "metadata.name: found nothing"),
        (("--pods", "bad.csv"), {"bad.csv": "name,arrives_s\na"}, "bad.csv: line 2: found 1 fields; expected 2"),
        (("--pods", "bad.gz"), {"bad.gz": "\x1f\x8bxx"}, "bad.gz"),
        (("--pods", "pods.csv", "--nodes", "nodes.yaml"), {}, "nodes.yaml: found the node n-1 a second time"),
        (("--pods", "pods.csv", "--nodes", "pod.yaml"), {}, "pod.yaml: found no Node"),
        (("--pods", "pods.csv", "--weight", "luck=1"), {}, "--weight: found 'luck=1'"),
        (("--pods", "pods.csv", "--weight", "packing=-1"), {}, "--weight: found 'packing=-1'"),
        (("--pods", "pods.csv", "--enable-label", "x"), {}, "--enable-label: found 'x'; expected KEY=VALUE"),
        (("--pods", "pod.yaml", "--inflate", "1.3"), {}, "--inflate: found no Pod that asks a GPU"),
        (("--pods", "pods.csv", "--to", "absent/map.html"), {}, "absent/map.html: found no such file or directory"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_written(
    folder: Path, arguments: tuple[str, ...], files: dict[str, str], complaint: str
) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="latin-1")
    before = sorted(path.name for path in folder.iterdir())
    to = () if "--to" in arguments else ("--to", "out.html")
    result = ran(*arguments, "-o", "html", *to)
    assert isinstance(result.exception, InputError), result.output
    assert complaint in str(result.exception)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_what_files_hold_cannot_move_the_cursor(folder: Path) -> None:
    (folder / "nodes.yaml").write_text(NODES.replace("{name", '{taints: [{key: "a\\e[2J", effect: NoSchedule}], name'))
    assert "the taint a?[2J:NoSchedule" in ran("--pods", "pods.csv").stdout
    assert "the taint a?[2J:NoSchedule" in CliRunner().invoke(explain, ["pod.yaml", "--nodes", "nodes.yaml"]).stdout


def test_a_file_that_unpacks_to_too_much_is_refused(folder: Path) -> None:
    with gzip.open(folder / "bomb.csv.gz", "wb", compresslevel=1) as bomb:
        bomb.write(b"name,arrives_s\n")
        for _ in range(75):
            bomb.write(b"a,0\n" * 1_000_000)
    assert str(ran("--pods", "bomb.csv.gz").exception) == (
        "bomb.csv.gz: found more than 300,000,000 bytes; expected a smaller file"
    )


@pytest.mark.usefixtures("folder")
def test_explain_fills_the_nodes_first_and_names_what_stops_a_pod() -> None:
    wide = EXAMPLES / "too-wide.yaml"
    result = CliRunner().invoke(explain, [str(wide), "--nodes", str(EXAMPLES / "nodes.yaml"), "-o", "json"])
    (pod,) = json.loads(result.stdout)["pods"]
    assert pod["code"] == "NOT_ALIGNABLE"
    assert "needs 4 GPUs and 120 CPUs in one NUMA node" in pod["sentence"]
    filled = (
        CliRunner().invoke(explain, [str(wide), "--nodes", "nodes.yaml", "--pods", "pods.csv", "--node", "n-1"]).stdout
    )
    assert "node n-1" in filled
    assert "n-2" not in filled


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--pod", "z"), "--pod: found 'z'; expected default/a"),
        (("--node", "z"), "--node: found 'z'; expected a node of nodes.yaml"),
    ],
)
def test_explain_says_what_there_is_to_explain(arguments: tuple[str, ...], complaint: str) -> None:
    result = CliRunner().invoke(explain, ["pod.yaml", "--nodes", "nodes.yaml", *arguments])
    assert complaint in str(result.exception)


def test_a_pod_that_is_wrong_is_explained_as_such(folder: Path) -> None:
    text = POD.replace("name: a}", "name: a, annotations: {cpuset-scheduler: maybe}}")
    (folder / "pod.yaml").write_text(text)
    result = CliRunner().invoke(explain, ["pod.yaml", "--nodes", "nodes.yaml"])
    assert "SPEC_INVALID" in result.stdout
    assert "cpuset-scheduler" in result.stdout


def test_the_trace_study_runs_on_the_published_trace(shared_data: Path) -> None:
    traces = shared_data / "traces" / "openb-v2023"
    result = CliRunner().invoke(
        simulate,
        [
            *("--nodes", str(traces / "openb_node_list_all_node.csv.gz")),
            *("--pods", str(traces / "openb_pod_list_default.csv.gz")),
            *("--inflate", "0.1", "--against", "first-fit", "-o", "json"),
        ],
    )
    document = json.loads(result.stdout)
    assert document["totals"]["nodes"] == 1523
    assert document["totals"]["gpus"] == 6212
    assert 0.1 * 6212 - 8 < document["totals"]["gpus_taken"] <= 0.1 * 6212
    assert any("3,078 Pods that share a GPU are left out" in note for note in document["notes"])


IDLE_KEY = "metadata: {name: a, annotations: {numaplace.dev/polcy: Restricted}}\n"


def test_words_without_effect_are_told_once_for_all_that_say_them(folder: Path) -> None:
    idle = POD.replace("metadata: {name: a}\n", IDLE_KEY)
    (folder / "idle.yaml").write_text(f"{idle}---\n{idle.replace('name: a,', 'name: b,')}")
    told = "Pod default/a and 1 more: annotation numaplace.dev/polcy is not known to numaplace and has no effect"
    assert json.loads(ran("--pods", "idle.yaml", "-o", "json").stdout)["notes"] == [told]
    explained = CliRunner().invoke(explain, ["idle.yaml", "--nodes", "nodes.yaml"]).stdout
    assert explained.endswith(f"\nnote: {told}\n")


def test_pods_that_run_already_are_not_told_what_has_no_effect(folder: Path) -> None:
    running = POD.replace("metadata: {name: a}\n", IDLE_KEY).replace("spec: {", "spec: {nodeName: n-1, ")
    (folder / "running.yaml").write_text(running)
    assert json.loads(ran("--pods", "running.yaml", "-o", "json").stdout)["notes"] == []


def test_an_unknown_align_level_is_told(folder: Path) -> None:
    (folder / "nodes.yaml").write_text(NODES.replace("labels: {", "labels: {numaplace.dev/align-level: socket, "))
    notes = json.loads(ran("--pods", "pods.csv", "-o", "json").stdout)["notes"]
    assert notes == [
        "nodes.yaml: node label numaplace.dev/align-level: found 'socket'; expected numa or package; numa is taken"
    ]


@pytest.mark.parametrize("name", ["aliyun.com/gpu", "nvidia.com/gpu"])
def test_cards_of_a_pod_that_runs_are_blocked_under_any_name(folder: Path, name: str) -> None:
    running = POD.replace("cpu: 1", f"cpu: 1, {name}: 3").replace("spec: {", "spec: {nodeName: n-1, ")
    wanting = POD.replace("name: a}", "name: b}").replace("cpu: 1", "cpu: 1, aliyun.com/gpu: 2")
    (folder / "pods.yaml").write_text(f"{running}---\n{wanting}")
    pods = json.loads(ran("--pods", "pods.yaml", "-o", "json").stdout)["pods"]
    assert {pod["pod"]: pod["node"] for pod in pods} == {"default/a": "n-1", "default/b": "n-2"}

"""`numaplace status` against an API server: who holds what, by NUMA node; who waits; what cannot be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from numaplace.adapters.kube.fake import Answer
from numaplace.model import keys
from tests.services.planner.world import gated, nodes_of, world_of
from tests.tools.live.console import kubeconfig, say


async def test_a_node_is_shown_numa_by_numa_with_its_pods(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("a", gpus=2, cpus=6), gated("b", gpus=1, cpus=2))
        await world.until_bound("a", "b")
        said = await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert said.lines == [
        "node n1: fresh report",
        "NUMA POD PHASE CPUS GPUS HCAS",
        "0 ns/a granted 0-2,8-10 13:00 4f:00 –",
        "free (single) 2 of 8 0 of 2 2 of 2",
        "1 ns/b granted 4,12 8b:00 –",
        "free (single) 6 of 8 1 of 2 2 of 2",
        "",
        "no Pod waits",
    ]
    assert max(map(len, said.out.splitlines())) <= 80


async def test_a_pod_over_two_numas_has_its_part_in_each(tmp_path: Path) -> None:
    annotations = {"cpuset-scheduler": "required", keys.POLICY: "Restricted"}
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("wide", gpus=4, cpus=8, annotations=annotations))
        await world.until_bound("wide")
        (node,) = (await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path), "-o", "json")).document[
            "nodes"
        ]
    held = {
        numa["numa"]: [(one["pod"], one["cpus"], len(one["gpus"])) for one in numa["held"]] for numa in node["numas"]
    }
    assert held == {0: [("ns/wide", "0-1,8-9", 2)], 1: [("ns/wide", "4-5,12-13", 2)]}
    assert [numa["marks"] for numa in node["numas"]] == [["wide"], ["wide"]]
    (pod,) = node["pods"]
    assert (pod["phase"], pod["chosen"], pod["numas"]) == ("granted", True, [0, 1])


async def test_who_waits_is_told_with_the_code_and_in_the_planners_order(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("late", gpus=3), gated("urgent", gpus=3, priority=5))
        world.add(gated("queued", gates=(keys.PLAN_GATE, "kueue.x-k8s.io/admission")))
        world.add(gated("odd", annotations={keys.POLICY: "Closest"}))
        await world.until_refused("late", "urgent", "odd")
        config = kubeconfig(world.server, tmp_path)
        said = await say("status", "--waiting", "--kubeconfig", config)
        other = await say("status", "--waiting", "-n", "elsewhere", "--kubeconfig", config)
    head, *rows = said.lines
    assert head == "WAITING POD AGE CODE ASKS"
    told = [(row.split()[0], row.split(" ", 2)[2]) for row in rows]
    assert told == [
        ("ns/urgent", "NOT_ALIGNABLE 3 GPUs and 2 CPUs"),
        ("ns/late", "NOT_ALIGNABLE 3 GPUs and 2 CPUs"),
        ("ns/queued", "gates of others: kueue.x-k8s.io/admission 1 GPU and 2 CPUs"),
        ("ns/odd", "SPEC_INVALID –"),
    ]
    assert other.lines == ["no Pod waits"]


async def test_pods_for_which_nobody_chose_anything_are_counted(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("plain", gpus=0, cpus=3, annotations={}, gates=()), gated("early", gpus=2, gates=()))
        world.bind("plain", "n1")
        world.bind("early", "n1")
        said = await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path), "--node", "n1")
    assert said.lines[-1] == "2 Pods counted by node only: 5 CPUs and 2 GPUs that nobody has named"
    assert "free 8 of 8 0 of 2 2 of 2" in " ".join(said.lines)


async def test_promises_and_ended_pods_are_told_apart_from_bound_ones(tmp_path: Path) -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.start()
        world.add(gated("promised"), gated("over"))
        await world.until(lambda: not any(pod["spec"].get("schedulingGates") for pod in world.pods))
        world.bind("over", "n1")
        world.uses("n1", "over")
        world.change("over", lambda pod: pod["status"].update(phase="Succeeded"))
        (node,) = (await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path), "-o", "json")).document[
            "nodes"
        ]
    assert {one["pod"]: one["phase"] for one in node["pods"]} == {"ns/promised": "held", "ns/over": "releasing"}


async def test_what_only_a_node_knows_to_run_there_is_shown_as_found(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        uses = json.dumps({"0-1-2-3": {"cpus": "0,8", "gpus": [], "hcas": []}})
        attribute = {"name": keys.IN_USE, "value": uses}

        def write(report: dict[str, Any]) -> None:
            report["attributes"] = [one for one in report["attributes"] if one["name"] != keys.IN_USE] + [attribute]

        world.change_report("n1", write)
        said = await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert "0 unknown/0-1-2-3 found 0,8 – –" in said.lines


async def test_reports_say_how_old_they_are(tmp_path: Path) -> None:
    async with world_of(nodes_of(3, labels={})) as world:
        long_ago = {"metadata": {"annotations": {keys.RENEWED: "2020-01-01T00:00:00Z"}}}
        world.change_report("n1", lambda report: report["metadata"].update(long_ago["metadata"]))
        world.change_report("n2", lambda report: report.pop("attributes"))
        world.change_node("n3", lambda node: node["spec"].update(unschedulable=True))
        said = await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path))
    heads = [line for line in said.lines if line.startswith("node ")]
    assert heads[0].startswith("node n1: stale report, ")
    assert heads[1:] == ["node n2: no report, not enabled", "node n3: fresh report, not enabled, cordoned"]


async def test_many_nodes_are_a_line_each(tmp_path: Path) -> None:
    async with world_of(nodes_of(9)) as world:
        world.start()
        world.add(gated("p", gpus=2, cpus=6))
        await world.until_bound("p")
        config = kubeconfig(world.server, tmp_path)
        said = await say("status", "--kubeconfig", config)
        one = await say("status", "--kubeconfig", config, "--node", "n1")
    assert said.lines[:3] == [
        "NODE REPORT PODS CPUS FREE GPUS FREE HCAS FREE",
        "n1 fresh 1 2+8 of 16 0+2 of 4 2+2 of 4",
        "n2 fresh 0 8+8 of 16 2+2 of 4 2+2 of 4",
    ]
    assert one.lines[0] == "node n1: fresh report"


async def test_what_cannot_be_read_is_a_note_and_the_rest_is_shown(tmp_path: Path) -> None:
    async with world_of(nodes_of(2)) as world:
        world.change_report("n1", lambda report: report.update(attributes=[{"name": keys.TOPOLOGY, "value": "{}"}]))
        world.add({"metadata": {"name": "odd"}, "spec": {"containers": "none"}})
        said = await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert "node n1: no report" in said.lines
    assert "node n2: fresh report" in said.lines
    notes = [line for line in said.lines if line.startswith("note: ")]
    assert notes[0].startswith("note: Pod ns/odd: ")
    assert notes[1].startswith(f"note: report n1: {keys.TOPOLOGY}")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--node", "nowhere"), "numaplace: --node: found 'nowhere'; expected a node of the cluster\n"),
        (("--context", "no"), "contexts: found none named 'no'; expected one of those there are: c, elsewhere\n"),
        (("--kubeconfig", "/no/such"), "numaplace: /no/such: found no file; expected a kubeconfig\n"),
    ],
)
async def test_a_wrong_option_is_one_sentence(tmp_path: Path, options: tuple[str, ...], sentence: str) -> None:
    async with world_of(nodes_of()) as world:
        said = await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path), *options)
    assert (said.status, said.out) == (2, "")
    assert said.err.endswith(sentence)


async def test_a_right_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        message = 'noderesourcetopologies is forbidden: User "me" cannot list resource'
        world.server.fail(Answer(403, "Forbidden", message), "GET", "/noderesourcetopologies")
        said = await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert (said.status, said.out) == (2, "")
    assert message in said.err
    assert "Traceback" not in said.err


async def test_a_list_that_takes_too_long_is_begun_again(tmp_path: Path) -> None:
    async with world_of(nodes_of()) as world:
        world.server.fail(Answer(410, "Expired", "too old"), "GET", "/pods")
        said = await say("status", "--kubeconfig", kubeconfig(world.server, tmp_path))
    assert said.lines[0] == "node n1: fresh report"

"""The page is one file that loads nothing, says its numbers without script, and lets no name become markup."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from numaplace.model.ids import NodeName
from numaplace.model.settings import Settings
from numaplace.tools.cli.map_page import map_page
from numaplace.tools.report.totals import totals_of
from tests.tools.paper import ENABLED, arrivals, cluster, run, small_cluster

HEAD = "name,arrives_s,gpu,cpu,memory,policy,cpus"
EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\u2028&amp;'


class Elements(HTMLParser):
    """Names and attributes of all elements, and the text of the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, text: str) -> None:
        if self.found and self.found[-1][0] == "script":
            self.scripts.append(text)


def page_of(count: int, *rows: str, name: str = "") -> str:
    outcome = run(small_cluster(count), arrivals(HEAD, *rows))
    if name:
        landings = tuple(replace(one, request=replace(one.request, name=name)) for one in outcome.landings)
        nodes = {
            key: replace(
                node,
                name=NodeName(name),
                holders={
                    uid: replace(held, request=replace(held.request, name=name)) for uid, held in node.holders.items()
                },
            )
            for key, node in outcome.state.nodes.items()
        }
        outcome = replace(outcome, landings=landings, state=replace(outcome.state, nodes=nodes), notes=(name,))
    return map_page([(outcome, totals_of(outcome, Settings()))], Settings())


ROWS = ("a,0,2,4,1Gi,SingleNUMANode,exclusive", "b,1,1,4,1Gi,SingleNUMANode,exclusive", "c,2,9,1,1Gi,Restricted,shared")


def test_nothing_is_loaded_from_anywhere() -> None:
    text = page_of(2, *ROWS)
    elements = Elements(text).found
    assert not [tag for tag, attributes in elements if {"src", "href", "action"} & set(attributes)]
    assert not [tag for tag, _ in elements if tag in ("link", "iframe", "object", "embed", "img", "base")]
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    policy = next(attributes["content"] for tag, attributes in elements if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_no_name_becomes_markup() -> None:
    calm, evil = Elements(page_of(1, *ROWS)), Elements(page_of(1, *ROWS, name=EVIL))
    assert {tag for tag, _ in evil.found} == {tag for tag, _ in calm.found} | {"ul", "li"}
    assert [tag for tag, _ in evil.found].count("script") == 2
    assert json.loads(evil.scripts[0])["nodes"][0]["n"] == EVIL


def test_totals_and_tables_need_no_script() -> None:
    text = re.sub(r"<script.*?</script>", "", page_of(2, *ROWS), flags=re.DOTALL)
    assert "<b>2 of 3</b><span>Pods placed</span>" in text
    assert "<td>default/a</td><td>n-1</td><td>0</td>" in text
    assert "<td>default/c</td><td>GPUS_SHORT</td>" in text


def test_the_map_tells_each_machine_once_and_each_pods_devices() -> None:
    document = json.loads(Elements(page_of(3, *ROWS)).scripts[0])
    (machine,) = document["machines"]
    assert [[numa["id"] for numa in package["numas"]] for package in machine["packages"]] == [[0], [1]]
    first = document["nodes"][0]["p"][0]
    assert (first["n"], first["c"], first["g"], first["u"]) == ("default/a", "0-1,16-17", [0, 1], [0])
    assert [node["n"] for node in document["nodes"]] == ["n-1", "n-2", "n-3"]


def test_each_hca_stands_below_the_gpu_that_it_is_nearest_to() -> None:
    document = json.loads(Elements(page_of(1)).scripts[0])
    for numa in (numa for package in document["machines"][0]["packages"] for numa in package["numas"]):
        assert numa["hcas"] == numa["gpus"]  # the machine has them in pairs, in one order


def test_a_machine_with_devices_of_unknown_numa_keeps_them_apart() -> None:
    state = cluster(f"nodes:\n- {{name: n, machine: 2pkg 8cpu 2gpu 1hca phb numa-unknown, {ENABLED}}}")
    outcome = run(state, arrivals(HEAD, "a,0,1,1,1Gi,BestEffort,shared"))
    text = map_page([(outcome, totals_of(outcome, Settings()))], Settings())
    (machine,) = json.loads(Elements(text).scripts[0])["machines"]
    assert (machine["stray"], machine["strayHcas"]) == ([0, 1], [0])


def test_cards_that_another_plugin_chose_are_only_counted() -> None:
    pods = arrivals("name,arrives_s,gpu,cpu,memory", "a,0,1,1,1Gi")
    foreign = replace(
        pods[0].request,
        gpus=0,
        rules=replace(
            pods[0].request.rules, amounts=replace(pods[0].request.rules.amounts, others={"nvidia.com/gpu": 3})
        ),
    )
    outcome = run(small_cluster(more="labels: {}"), [replace(pods[0], request=foreign)])
    text = map_page([(outcome, totals_of(outcome, Settings()))], Settings())
    assert json.loads(Elements(text).scripts[0])["nodes"][0]["p"] == [{"n": "default/a", "k": 3}]


def test_a_thousand_busy_nodes_stay_a_page_of_a_few_megabytes() -> None:
    rows = [f"p{i},{i},{1 + i % 2},{1 + i % 6},1Gi,SingleNUMANode,exclusive" for i in range(2000)]
    text = page_of(1000, *rows)
    assert len(text) < 3_000_000
    assert len(json.loads(Elements(text).scripts[0])["nodes"]) == 1000


@pytest.mark.parametrize("asset", ["page.css", "page.js"])
def test_colours_and_script_come_with_the_package(asset: str) -> None:
    assert files("numaplace.tools.topomap").joinpath(asset).is_file()

"""The worked example of how-it-decides.md: every number of its table, counted by the oracle from the contract."""

import re
from collections.abc import Iterator

import pytest

from numaplace.decide.admit import check
from numaplace.decide.place import plan
from numaplace.model.cluster import ClusterState
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.tools.report.words import short_pcis
from numaplace.tools.sim.cluster import cluster_of, nodes_of
from numaplace.wire.manifests import decode_manifests
from numaplace.wire.node_groups import decode_groups
from numaplace.wire.workload import expand
from tests.oracle.search import Choice, choices, key_of
from tests.oracle.world import world_of
from tests.recorded import ROOT

PAGE = ROOT / "docs/explanation/how-it-decides.md"
FILES = ROOT / "docs/examples/decides"
ROW = re.compile(r"^\| numa \d \| `([^`]+)` \|((?: *\d+ *\|)+)$", re.MULTILINE)
COLUMNS = (0, 2, 4, 5, 6, 7, 8, 9, 10)  # of the oracle's key: it also counts unknown devices and numas used


def keys_of_the_page() -> dict[str, tuple[int, ...]]:
    """Each candidate's GPUs and the numbers that the page gives it."""
    return {row[1]: tuple(map(int, re.findall(r"\d+", row[2]))) for row in ROW.finditer(PAGE.read_text())}


def requests() -> Iterator[PodRequest]:
    manifests = FILES / "pods.yaml"
    for workload in decode_manifests(manifests.read_text(), str(manifests)).workloads:
        for pod in expand(workload):
            request = check(pod, Settings())
            assert not isinstance(request, Refusal)
            yield request


@pytest.fixture
def keys() -> dict[str, tuple[object, ...]]:
    """Every candidate of the second Pod and its key, with the first one in place."""
    nodes = FILES / "node.yaml"
    state: ClusterState = cluster_of(
        node for group in decode_groups(nodes.read_text(), str(nodes)) for node in nodes_of(group, Settings())
    )
    first, second, *_ = requests()
    (node,) = plan(state, [first]).state.nodes.values()
    world = world_of(node)

    def gpus(choice: Choice) -> str:
        return short_pcis(gpu.pci for gpu in choice.gpus)

    return {gpus(choice): key_of(world, second, choice) for choice in choices(world, second, width=1)}


def test_the_numbers_of_the_table_are_right(keys: dict[str, tuple[object, ...]]) -> None:
    shown = keys_of_the_page()
    assert len(shown) >= 3
    assert shown == {gpus: tuple(keys[gpus][place] for place in COLUMNS) for gpus in shown}


def test_the_first_row_is_the_best_of_all_candidates(keys: dict[str, tuple[object, ...]]) -> None:
    assert next(iter(keys_of_the_page())) == min(keys, key=lambda gpus: keys[gpus])


def test_the_page_says_how_many_candidates_there_are(keys: dict[str, tuple[object, ...]]) -> None:
    assert f"{len(keys)} ways" in PAGE.read_text()

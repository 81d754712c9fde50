"""A person keeps a control plane up, looks around in it, and takes it down again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from numaplace.adapters.kube import Kube, load_kubeconfig
from numaplace.adapters.kube.resources import NODES, REPORTS
from tests.adapters.kube.contract import Bare
from tests.cluster.build import ASSETS
from tests.cluster.control_plane import ControlPlane
from tests.recorded import ROOT


@pytest.fixture
def stay(plane: ControlPlane, tmp_path: Path) -> "Stay":
    return Stay({**os.environ, ASSETS: str(plane.binaries), "XDG_CACHE_HOME": str(tmp_path)})


class Stay:
    """What the Makefile calls, with a cache of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.cluster.stay", *arguments]
        return subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)


async def test_it_stays_up_with_its_nodes_until_it_is_taken_down(stay: Stay) -> None:
    first = stay("up", "--nodes", "2")
    assert first.returncode == 0, first.stderr
    try:
        assert stay("up").stdout == first.stdout  # one is enough
        kubeconfig = Path(first.stdout.strip().removeprefix("export KUBECONFIG="))
        async with Kube(load_kubeconfig((kubeconfig,))) as kube:
            for resource in (NODES, REPORTS):
                names = [one.metadata.name async for page in kube.pages(resource, Bare) for one in page.objects]
                assert names == ["node-0001", "node-0002"]
    finally:
        ended = stay("down")
    assert ended.returncode == 0, ended.stderr
    assert not kubeconfig.parent.exists()
    again = stay("down")
    assert (again.returncode, again.stderr) == (1, "numaplace: no control plane is up.\n")


def test_a_nodes_file_that_is_wrong_is_told(stay: Stay, tmp_path: Path) -> None:
    wrong = tmp_path / "nodes.yaml"
    wrong.write_text("nodes: [{name: a, machine: no-such-machine}]\n")
    said = stay("up", "--file", str(wrong))
    assert said.returncode == 1
    assert "nodes[0].machine" in said.stderr

"""The demo is the first thing that anybody runs: it works, says what it says it says, and leaves one file."""

import os
import subprocess
import sys
from pathlib import Path

from tests.recorded import ROOT


def test_the_demo_places_the_manifests_explains_one_and_names_its_page(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", ROOT / "deploy" / "examples" / "demo.sh"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "default/example" in done.stdout
    assert "Pods placed  4 of 4" in done.stdout
    assert "needs 4 GPUs and 120 CPUs in one NUMA node" in done.stdout
    assert "Open numaplace-demo.html in a browser." in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["numaplace-demo.html"]

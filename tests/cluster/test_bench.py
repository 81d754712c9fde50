"""The bench of a whole cluster, small: every part runs and says something. What it measures here means nothing."""

import re

import pytest

from bench.cluster.__main__ import run


@pytest.mark.timeout(400)
async def test_every_part_of_the_bench_has_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    await run(["burst", "where", "arrivals", "idle", "startup"], sizes=[20], pods=12, paces=[20.0], seconds=1.0)
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    for part in ("planner", "planner with extender", "plain Pods beside the extender", "write the patch", "ours"):
        assert any(row.startswith(f"| {part} |") for row in rows), printed
    (rate,) = re.findall(r"^\| planner \| (\d+) \| \d+\.\d\d \|", printed, re.MULTILINE)
    assert int(rate) > 0
    assert "20 nodes of twenty models with device ids of their own, 80 Pods bound" in printed

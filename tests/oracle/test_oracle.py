"""The oracle itself, against answers worked out by hand."""

import pytest

from tests.oracle.refusals import code_of
from tests.oracle.search import best_of
from tests.oracle.worked import CASES, Case, gpu
from tests.oracle.world import world_of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_the_oracle_finds_what_was_worked_by_hand(case: Case) -> None:
    node = case.node()
    found = best_of(node, case.request)
    if case.code is not None:
        assert found is None
        assert code_of(world_of(node), case.request) is case.code
    else:
        assert found is not None
        _, choice = found
        assert choice.numas == case.numas
        assert [g.pci for g in choice.gpus] == gpu(*case.gpus)
        assert [h.name for h in choice.hcas] == [f"mlx5_{i}" for i in case.hcas]
        assert choice.fallback is case.fallback

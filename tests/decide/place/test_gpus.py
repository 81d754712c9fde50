"""The search for GPUs and HCAs: as good as trying all sets, and soon done where sets are too many to try."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.decide.place.gpus import LINK_COST, Problem, Solution, solve

PIX, NODE = 1, 4


def problem(gpus: int, hcas: int, gpu_count: int, hca_count: int) -> Problem:
    """GPU i and HCA i lie below one switch, everything else below one domain."""
    return Problem(
        gpu_count=gpu_count,
        hca_count=hca_count,
        unary=(0,) * gpus,
        links=tuple(tuple(0 if a == b else NODE for b in range(gpus)) for a in range(gpus)),
        groups=(),
        levels=tuple(tuple(PIX if g == h else NODE for h in range(hcas)) for g in range(gpus)),
        hca_unary=(0,) * hcas,
    )


def best_of_all(asked: Problem) -> Solution | None:
    """The first cheapest set, with every set tried."""
    found = None
    for gpus in combinations(range(len(asked.unary)), asked.gpu_count):
        for hcas in combinations(range(len(asked.hca_unary)), asked.hca_count):
            cost = sum(asked.unary[g] + min(asked.levels[g][h] for h in hcas) for g in gpus)
            cost += sum(asked.hca_unary[h] for h in hcas)
            cost += sum(LINK_COST * asked.links[a][b] for a, b in combinations(gpus, 2))
            if found is None or cost < found.cost:
                found = Solution(cost, gpus, hcas)
    return found


@given(st.data())
def test_a_few_hcas_for_many_gpus_are_chosen_as_if_all_sets_were_tried(data: st.DataObject) -> None:
    gpus, hcas = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 6))
    row = st.lists(st.integers(1, 6), min_size=hcas, max_size=hcas).map(tuple)
    asked = Problem(
        gpu_count=data.draw(st.integers(1, gpus)),
        hca_count=data.draw(st.integers(1, hcas)),
        unary=tuple(data.draw(st.sampled_from([0, 1 << 44])) for _ in range(gpus)),
        links=tuple(tuple(0 if a == b else NODE for b in range(gpus)) for a in range(gpus)),
        groups=(),
        levels=tuple(data.draw(row) for _ in range(gpus)),
        hca_unary=tuple(data.draw(st.sampled_from([0, 1 << 44])) for _ in range(hcas)),
    )
    assert solve(asked) == best_of_all(asked)


def test_a_few_hcas_for_many_gpus_do_not_need_all_sets() -> None:
    # 11,440 sets of GPUs with 120 pairs of HCAs each: a search that tries them is felt.
    assert solve(problem(16, 16, gpu_count=9, hca_count=2)) == Solution(
        cost=36 * LINK_COST * NODE + 2 * PIX + 7 * NODE, gpus=tuple(range(9)), hcas=(0, 1)
    )


@pytest.mark.parametrize(("gpus", "gpu_count", "hca_count"), [(32, 17, 0), (64, 31, 8), (128, 61, 3)])
def test_a_machine_of_very_many_devices_gets_an_answer(gpus: int, gpu_count: int, hca_count: int) -> None:
    # An odd number out of pairs: every set breaks a pair, which no bound can know beforehand.
    pairs = tuple((3 << first, False) for first in range(0, gpus, 2))
    found = solve(replace(problem(gpus, gpus, gpu_count=gpu_count, hca_count=hca_count), groups=pairs))
    assert found is not None
    assert (len(set(found.gpus)), len(set(found.hcas))) == (gpu_count, hca_count)

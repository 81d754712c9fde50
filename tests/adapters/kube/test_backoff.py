"""Waits grow, end growing, and are never zero after a failure."""

import pytest

from numaplace.adapters.kube import Backoff


@pytest.mark.parametrize(
    ("failures", "longest"), [(0, 0.0), (1, 0.5), (2, 1.0), (3, 2.0), (5, 8.0), (6, 10.0), (10_000, 10.0)]
)
def test_waits_double_up_to_the_most(failures: int, longest: float) -> None:
    backoff = Backoff(first_s=0.5, most_s=10.0, failures=failures)
    assert backoff.delay_s(draw=0.0) == longest
    assert backoff.delay_s(draw=1.0) == longest / 2


def test_a_success_begins_anew() -> None:
    tired = Backoff(first_s=0.5).failed().failed()
    assert tired.delay_s(0.0) == 1.0
    assert tired.rested().delay_s(0.0) == 0.0
    assert tired.rested().failed().delay_s(0.0) == 0.5

"""The cheapest exact set of exclusive HCAs for a given set of GPUs.

An HCA may be the nearest of several GPUs, so this is a small k-median problem:
depth first in name order, pruned by what the HCAs still open could reach at best.
"""

from collections.abc import Sequence
from math import inf

EXACT_DEVICES = 16  # of a kind, out of which the best set is certain; beyond it the search ends after so many steps
MOST_STEPS = 400
FAR = 99  # above every level: no HCA yet, or beyond the limit


def choose_hcas(
    levels: Sequence[tuple[int, ...]], extra: Sequence[int], count: int, below: int
) -> tuple[int, tuple[int, ...]] | None:
    """The best `count` HCAs: (cost, positions), or None if none costs less than `below`.

    `levels[h][g]` is the level from HCA h to the g-th chosen GPU, FAR where it may not
    serve it; `extra[h]` is what h costs by itself. The cost of a set is that of its members
    plus each GPU's nearest level. Among equals the first by position.
    """
    search = _HcaSearch(levels, extra, count, below)
    gpus = len(levels[0]) if levels else 0
    search.visit(0, (), (FAR,) * gpus, 0)
    return search.best


class _HcaSearch:
    def __init__(self, levels: Sequence[tuple[int, ...]], extra: Sequence[int], count: int, below: int) -> None:
        self.levels, self.extra, self.count, self.below = levels, extra, count, below
        self.best: tuple[int, tuple[int, ...]] | None = None
        self.steps_left: float = MOST_STEPS if len(levels) > EXACT_DEVICES else inf
        self.rest = [(FAR,) * len(levels[0])] if levels else []  # at [i]: the nearest that HCAs i, i+1, … offer
        for row in reversed(levels):
            self.rest.insert(0, tuple(map(min, row, self.rest[0])))
        looks = list(zip(levels, extra, strict=True))
        self.twin = [max((j for j in range(i) if looks[j] == look), default=-1) for i, look in enumerate(looks)]

    def visit(self, i: int, chosen: tuple[int, ...], near: tuple[int, ...], extra: int) -> None:
        """Decide HCA `i` and those after it; `near` is each GPU's nearest level so far."""
        left = self.count - len(chosen)
        self.steps_left -= 1
        if self.steps_left < 0:
            return
        if left == 0:
            cost = sum(near) + extra
            if cost < self.below and max(near, default=0) < FAR:
                self.below, self.best = cost, (cost, chosen)
            return
        if len(self.levels) - i < left:
            return
        reach = tuple(map(min, near, self.rest[i]))
        if sum(reach) + extra >= self.below or max(reach, default=0) >= FAR:
            return
        if self.twin[i] < 0 or self.twin[i] in chosen:
            self.visit(i + 1, (*chosen, i), tuple(map(min, near, self.levels[i])), extra + self.extra[i])
        self.visit(i + 1, chosen, near, extra)

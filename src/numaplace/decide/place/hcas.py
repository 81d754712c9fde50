"""The cheapest exact set of exclusive HCAs for a given set of GPUs.

An HCA may be the nearest of several GPUs, so this is a small k-median problem:
depth first in name order, pruned by what the HCAs still open could reach at best.
"""

from collections.abc import Sequence

from numaplace.model.layout import UNKNOWN, Layout
from numaplace.model.proximity import Level

UNKNOWN_COST = 1 << 44  # a device of unknown numa outweighs every other cost; see devices.py


def choose_hcas(
    layout: Layout, gpus: Sequence[int], hcas: Sequence[int], count: int, limit: Level, below: int
) -> tuple[int, tuple[int, ...]] | None:
    """The best `count` of `hcas` for `gpus`: (cost, positions), or None if none costs less than `below`.

    Cost: per GPU the level of its nearest chosen HCA, none beyond `limit`, plus
    UNKNOWN_COST for each chosen HCA of unknown numa. Among equals the first by name.
    """
    search = _HcaSearch(layout, gpus, hcas, count, limit, below)
    search.visit(0, (), tuple([_FAR] * len(gpus)), 0)
    return search.best


_FAR = 99  # above every level: no HCA yet


class _HcaSearch:
    def __init__(
        self, layout: Layout, gpus: Sequence[int], hcas: Sequence[int], count: int, limit: Level, below: int
    ) -> None:
        self.hcas, self.count, self.below = hcas, count, below
        self.best: tuple[int, tuple[int, ...]] | None = None
        self.levels = [tuple(_within(layout.hca_links[g][h], limit) for g in gpus) for h in hcas]
        self.extra = [UNKNOWN_COST if layout.hca_home[h] == UNKNOWN else 0 for h in hcas]
        self.rest = self._reach_from()
        looks = list(zip(self.levels, self.extra, strict=True))
        self.twin = [max((j for j in range(i) if looks[j] == look), default=-1) for i, look in enumerate(looks)]

    def _reach_from(self) -> list[tuple[int, ...]]:
        """At [i]: the nearest level that HCAs i, i+1, … offer each GPU."""
        reach = [tuple([_FAR] * len(self.levels[0] if self.levels else ()))]
        for levels in reversed(self.levels):
            reach.append(tuple(map(min, levels, reach[-1])))
        return reach[::-1]

    def visit(self, i: int, chosen: tuple[int, ...], near: tuple[int, ...], extra: int) -> None:
        """Decide HCA `i` and those after it; `near` is each GPU's nearest level so far."""
        left = self.count - len(chosen)
        if left == 0:
            cost = sum(near) + extra
            if cost < self.below and (not near or max(near) < _FAR):
                self.below, self.best = cost, (cost, tuple(self.hcas[j] for j in chosen))
            return
        if len(self.hcas) - i < left:
            return
        reach = tuple(map(min, near, self.rest[i])) if near else near
        if sum(reach) + extra >= self.below or (reach and max(reach) >= _FAR):
            return
        if self.twin[i] < 0 or self.twin[i] in chosen:
            taken = tuple(map(min, near, self.levels[i])) if near else near
            self.visit(i + 1, (*chosen, i), taken, extra + self.extra[i])
        self.visit(i + 1, chosen, near, extra)


def _within(level: Level, limit: Level) -> int:
    return int(level) if level <= limit else _FAR

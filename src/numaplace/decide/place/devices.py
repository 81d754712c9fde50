"""The best exact set of GPUs and HCAs out of those a candidate offers.

Branch and bound over the GPUs in address order: the first best set found is also
the first by address. Interchangeable GPUs are tried in one order only. The three
device parts of the placement key are packed into one integer, heaviest first:
devices of unknown numa, groups broken, GPU link cost, HCA cost.
"""

from dataclasses import dataclass
from functools import lru_cache

from numaplace.decide.place.hcas import UNKNOWN_COST, choose_hcas
from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import UNKNOWN, Layout
from numaplace.model.proximity import Level

GROUP_COST = 1 << 32
LINK_COST = 1 << 12  # HCA cost stays below: 6 a GPU


@dataclass(frozen=True, slots=True)
class Offer:
    """What a candidate offers and what is wanted of it; GPU and HCA sets are masks."""

    gpus: int  # to choose from
    free_gpus: int  # of the whole node: which groups are still whole
    gpu_count: int
    hcas: int  # to choose from; in shared mode every healthy one
    hca_count: int  # exclusive HCAs
    shared: bool
    limit: Level  # farthest level from a GPU to its nearest exclusive HCA


@dataclass(frozen=True, slots=True)
class Devices:
    """A chosen set; positions rise. In shared mode `hcas` is empty: they follow from the GPUs."""

    cost: int
    gpus: tuple[int, ...]
    hcas: tuple[int, ...]

    @property
    def unknown(self) -> int:
        """How many of the devices have no known numa."""
        return self.cost // UNKNOWN_COST

    @property
    def hca_cost(self) -> int:
        """Σ over GPUs of the level of the nearest HCA."""
        return self.cost % LINK_COST


@lru_cache(maxsize=1 << 16)
def best_devices(layout: Layout, offer: Offer) -> Devices | None:
    """The cheapest set that serves `offer`, first by GPU addresses then HCA names; None if there is none."""
    if offer.gpus.bit_count() < offer.gpu_count or offer.hcas.bit_count() < offer.hca_count:
        return None
    search = _GpuSearch(layout, offer)
    search.visit(0, [], 0, 0, [0] * len(search.gpus))
    return search.best


def nearest_hca(layout: Layout, gpu: int, hcas: int) -> Level | None:
    """The level of the HCA of `hcas` that is nearest to `gpu`; None without HCAs."""
    return min((layout.hca_links[gpu][h] for h in CpuSet(hcas)), default=None)


class _GpuSearch:
    def __init__(self, layout: Layout, offer: Offer) -> None:
        self.layout, self.offer = layout, offer
        self.gpus = list(CpuSet(offer.gpus))
        self.hcas = tuple(CpuSet(offer.hcas))
        self.groups = [group for group in layout.groups if not group & ~offer.free_gpus]
        self.nearest = [nearest_hca(layout, g, offer.hcas) for g in self.gpus]
        self.unary = [self._unary(g, near) for g, near in zip(self.gpus, self.nearest, strict=True)]
        self.links = [[LINK_COST * layout.gpu_links[a][b] for b in self.gpus] for a in self.gpus]
        self.least_link = min((self.links[a][b] for a in range(len(self.gpus)) for b in range(a)), default=0)
        self.rest = [sum(1 << g for g in self.gpus[i:]) for i in range(len(self.gpus) + 1)]
        looks = [self._look(i) for i in range(len(self.gpus))]
        self.twin = [max((j for j in range(i) if self._alike(looks, j, i)), default=-1) for i in range(len(self.gpus))]
        self.best: Devices | None = None
        self.below = 1 << 62

    def _unary(self, gpu: int, nearest: Level | None) -> int:
        """What choosing this GPU costs whatever else is chosen; in exclusive mode a lower bound."""
        cost = UNKNOWN_COST if self.layout.gpu_home[gpu] == UNKNOWN else 0
        wants_hca = self.offer.shared or self.offer.hca_count > 0
        return cost + int(nearest) if wants_hca and nearest is not None else cost

    def _look(self, i: int) -> tuple[object, ...]:
        gpu, exclusive = self.gpus[i], self.offer.hca_count > 0
        levels = tuple(self.layout.hca_links[gpu][h] for h in self.hcas) if exclusive else ()
        return self.unary[i], self.nearest[i], tuple(group >> gpu & 1 for group in self.groups), levels

    def _alike(self, looks: list[tuple[object, ...]], a: int, b: int) -> bool:
        """Whether two GPUs can change places without changing any cost."""
        if looks[a] != looks[b]:
            return False
        return all(self.links[a][x] == self.links[b][x] for x in range(len(self.gpus)) if x not in (a, b))

    def visit(self, i: int, chosen: list[int], mask: int, cost: int, pull: list[int]) -> None:
        """Decide GPU `i` and those after it.

        `cost` is that of the chosen ones without groups, `pull[x]` what GPU x adds by its
        links to them.
        """
        left = self.offer.gpu_count - len(chosen)
        if left == 0:
            self._close(chosen, mask, cost + GROUP_COST * self._broken(mask, 0))
            return
        if len(self.gpus) - i < left or self._bound(i, left, mask, cost, pull) >= self.below:
            return
        if self.twin[i] < 0 or mask >> self.gpus[self.twin[i]] & 1:
            links = self.links[i]
            self.visit(
                i + 1,
                [*chosen, self.gpus[i]],
                mask | 1 << self.gpus[i],
                cost + pull[i] + self.unary[i],
                [old + new for old, new in zip(pull, links, strict=True)],
            )
        self.visit(i + 1, chosen, mask, cost, pull)

    def _bound(self, i: int, left: int, mask: int, cost: int, pull: list[int]) -> int:
        """No set that continues this one costs less."""
        adds = sorted([p + u for p, u in zip(pull[i:], self.unary[i:], strict=True)])[:left]
        inner = left * (left - 1) // 2 * self.least_link
        return cost + sum(adds) + inner + GROUP_COST * self._broken(mask, self.rest[i])

    def _broken(self, mask: int, undecided: int) -> int:
        """Whole groups that are partly taken, whatever is decided about the undecided."""
        return sum(1 for group in self.groups if group & mask and group & ~(mask | undecided))

    def _close(self, chosen: list[int], mask: int, cost: int) -> None:
        """Take a full set of GPUs into account, with its best exclusive HCAs where they are asked."""
        if cost >= self.below:
            return
        if self.offer.hca_count == 0:
            self.below, self.best = cost, Devices(cost, tuple(chosen), ())
            return
        base = cost - sum(int(near) for g, near in zip(self.gpus, self.nearest, strict=True) if mask >> g & 1 and near)
        found = choose_hcas(self.layout, chosen, self.hcas, self.offer.hca_count, self.offer.limit, self.below - base)
        if found is not None:
            self.below = base + found[0]
            self.best = Devices(self.below, tuple(chosen), found[1])

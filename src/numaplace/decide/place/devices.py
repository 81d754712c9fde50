"""The best exact set of GPUs and HCAs out of those a candidate offers.

States the choice as a problem without names (`gpus`) and puts the names back. The
device parts of the placement key are one integer, heaviest first: devices of unknown
numa, groups broken, GPU link cost, HCA cost.
"""

from dataclasses import dataclass
from functools import lru_cache

from numaplace.decide.place.gpus import LINK_COST, Problem, solve
from numaplace.decide.place.hcas import FAR
from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import UNKNOWN, Layout
from numaplace.model.proximity import Level

UNKNOWN_COST = 1 << 44  # a device of unknown numa outweighs every other cost


@dataclass(frozen=True, slots=True)
class Offer:
    """What a candidate offers and what is wanted of it; GPU and HCA sets are masks."""

    gpus: int  # to choose from
    free_gpus: int  # of the whole node: which groups are still whole
    gpu_count: int
    hcas: int  # to choose from; in shared mode every healthy one
    hca_count: int  # exclusive HCAs
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


NO_DEVICES = Devices(0, (), ())


@lru_cache(maxsize=1 << 16)
def best_devices(layout: Layout, offer: Offer) -> Devices | None:
    """The cheapest set that serves `offer`, first by GPU addresses then HCA names; None if there is none."""
    gpus, hcas = tuple(CpuSet(offer.gpus)), tuple(CpuSet(offer.hcas))
    if len(gpus) < offer.gpu_count or len(hcas) < offer.hca_count:
        return None
    solution = solve(_problem(layout, offer, gpus, hcas))
    if solution is None:
        return None
    return Devices(solution.cost, tuple(gpus[g] for g in solution.gpus), tuple(hcas[h] for h in solution.hcas))


def nearest_hca(layout: Layout, gpu: int, hcas: int) -> Level | None:
    """The level of the HCA of `hcas` that is nearest to `gpu`; None without HCAs."""
    return min((layout.hca_links[gpu][h] for h in CpuSet(hcas)), default=None)


def _problem(layout: Layout, offer: Offer, gpus: tuple[int, ...], hcas: tuple[int, ...]) -> Problem:
    local = {g: i for i, g in enumerate(gpus)}
    levels = [[layout.hca_links[g][h] for h in hcas] for g in gpus]
    near = [min(row, default=Level.NV) if not offer.hca_count else Level.NV for row in levels]
    groups = (group for group in layout.groups if not group & ~offer.free_gpus)
    return Problem(
        gpu_count=offer.gpu_count,
        hca_count=offer.hca_count,
        unary=tuple(_unknown(layout.gpu_home[g]) + level for g, level in zip(gpus, near, strict=True)),
        links=tuple(tuple(layout.gpu_links[a][b] for b in gpus) for a in gpus),
        groups=tuple(
            (sum(1 << local[g] for g in CpuSet(group & offer.gpus)), bool(group & ~offer.gpus))
            for group in groups
            if group & offer.gpus
        ),
        levels=tuple(tuple(_within(level, offer.limit) for level in row) for row in levels) if offer.hca_count else (),
        hca_unary=tuple(_unknown(layout.hca_home[h]) for h in hcas) if offer.hca_count else (),
    )


def _unknown(home: int) -> int:
    return UNKNOWN_COST if home == UNKNOWN else 0


def _within(level: Level, limit: Level) -> int:
    return level if level <= limit else FAR

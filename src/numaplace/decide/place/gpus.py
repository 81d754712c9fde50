"""The cheapest exact set of GPUs, with the HCAs that go with it.

Branch and bound over the GPUs in address order: the first best set found is also
the first by address. Interchangeable GPUs are tried in one order only. The problem is
stated without names or numas, so equal problems are solved once, wherever they arise.
Out of very many devices the answer is the best one seen: docs/decisions/0006-exact-search.md.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import inf

from numaplace.decide.place.hcas import EXACT_DEVICES, choose_hcas

GROUP_COST = 1 << 32  # one group of GPUs broken outweighs every link
LINK_COST = 1 << 12  # one step of one link outweighs every HCA: 6 a GPU
MOST_STEPS = 4000  # beyond EXACT_DEVICES: up to a second for 128 GPUs
STEPS_OF_HCAS = 40  # what a search for HCAs counts there


@dataclass(frozen=True, slots=True)
class Problem:
    """Choose `gpu_count` GPUs and `hca_count` HCAs; positions, as small as the offer is."""

    gpu_count: int
    hca_count: int  # exclusive ones; 0: HCAs cost only by `unary`
    unary: tuple[int, ...]  # what each GPU costs by itself
    links: tuple[tuple[int, ...], ...]  # level between GPUs
    groups: tuple[tuple[int, bool], ...]  # whole groups: mask of the GPUs offered, and whether others belong to it
    levels: tuple[tuple[int, ...], ...]  # [GPU][HCA], FAR beyond the limit
    hca_unary: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """The best set: its cost and the positions taken, rising."""

    cost: int
    gpus: tuple[int, ...]
    hcas: tuple[int, ...]


@lru_cache(maxsize=1 << 15)
def solve(problem: Problem) -> Solution | None:
    """The cheapest set, first by GPUs then by HCAs; None if there is none."""
    search = _GpuSearch(problem)
    search.visit(0, (), 0, [0] * len(problem.unary))
    return search.best


class _GpuSearch:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.size = len(problem.unary)
        self.best: Solution | None = None
        self.below = 1 << 62
        large = max(self.size, len(problem.hca_unary)) > EXACT_DEVICES
        self.steps_left: float = MOST_STEPS if large else inf
        nearest = [min(row, default=0) if problem.hca_count else 0 for row in problem.levels or ((),) * self.size]
        self.least = [one + near for one, near in zip(problem.unary, nearest, strict=True)]  # a GPU's least own cost
        self.wanting = _wanting(problem, nearest)
        self.links = [[LINK_COST * level for level in row] for row in problem.links]
        self.least_link = min((self.links[a][b] for a in range(self.size) for b in range(a)), default=0)
        self.twin = [max((j for j in range(i) if self._alike(j, i)), default=-1) for i in range(self.size)]

    def _alike(self, a: int, b: int) -> bool:
        """Whether two GPUs can change places without changing any cost."""
        problem, links = self.problem, self.problem.links
        if problem.unary[a] != problem.unary[b] or any((mask >> a ^ mask >> b) & 1 for mask, _ in problem.groups):
            return False
        if problem.levels and problem.levels[a] != problem.levels[b]:
            return False
        return all(links[a][x] == links[b][x] for x in range(self.size) if x not in (a, b))

    def visit(self, i: int, chosen: tuple[int, ...], cost: int, pull: list[int]) -> None:
        """Decide GPU `i` and those after it.

        `cost` is the least that the chosen ones cost without groups, `pull[x]` what GPU x
        adds by its links to them.
        """
        left = self.problem.gpu_count - len(chosen)
        self.steps_left -= 1
        if self.steps_left < 0:
            return
        if left == 0:
            self._close(chosen, cost)
            return
        if self.size - i < left or self._bound(i, left, chosen, cost, pull) >= self.below:
            return
        if self.twin[i] < 0 or self.twin[i] in chosen:
            farther = [old + new for old, new in zip(pull, self.links[i], strict=True)]
            self.visit(i + 1, (*chosen, i), cost + pull[i] + self.least[i], farther)
        self.visit(i + 1, chosen, cost, pull)

    def _bound(self, i: int, left: int, chosen: tuple[int, ...], cost: int, pull: list[int]) -> int:
        """No set that continues this one costs less."""
        adds = sorted([pulled + own for pulled, own in zip(pull[i:], self.least[i:], strict=True)])
        inner = left * (left - 1) // 2 * self.least_link
        return cost + sum(adds[:left]) + inner + self.wanting + self._broken(chosen, undecided=-1 << i)

    def _broken(self, chosen: tuple[int, ...], *, undecided: int) -> int:
        """The cost of whole groups that stay partly taken, whatever is decided about the undecided."""
        mask = sum(1 << g for g in chosen)
        lost = ~(mask | undecided)
        return GROUP_COST * sum(1 for group, others in self.problem.groups if group & mask and (others or group & lost))

    def _close(self, chosen: tuple[int, ...], cost: int) -> None:
        """Take a full set of GPUs into account, with its best exclusive HCAs where they are asked."""
        problem = self.problem
        cost += self._broken(chosen, undecided=0)
        if cost >= self.below:
            return
        if not problem.hca_count:
            self.below, self.best = cost, Solution(cost, chosen, ())
            return
        self.steps_left -= STEPS_OF_HCAS
        base = cost - sum(self.least[g] - problem.unary[g] for g in chosen)
        levels = tuple(zip(*(problem.levels[g] for g in chosen), strict=True)) or ((),) * len(problem.hca_unary)
        found = choose_hcas(levels, problem.hca_unary, problem.hca_count, self.below - base)
        if found is not None:
            self.below = base + found[0]
            self.best = Solution(self.below, chosen, found[1])


def _wanting(problem: Problem, nearest: list[int]) -> int:
    """What exclusive HCAs cost at least beyond each GPU's nearest: a few HCAs are near to a few GPUs only.

    At each level the HCAs together reach no more GPUs than those that reach the most.
    """
    if not problem.hca_count or not problem.levels:
        return 0
    least, reached = sum(sorted(problem.hca_unary)[: problem.hca_count]), 0
    for level in sorted({level for row in problem.levels for level in row}):
        counts = sorted(sum(row[h] <= level for row in problem.levels) for h in range(len(problem.hca_unary)))
        within = min(problem.gpu_count, sum(counts[-problem.hca_count :]))
        least, reached = least + level * (within - reached), within
    return max(0, least - sum(sorted(nearest)[-problem.gpu_count :]))

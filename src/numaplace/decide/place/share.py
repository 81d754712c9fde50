"""Splitting one amount over several numas, the same way wherever it is done.

Used for confined CPUs, memory, hugepages and exclusive CPUs: in proportion to
weights, by largest remainder, ties to the lower position, never above a cap.
"""

from collections.abc import Sequence


def split(amount: int, weights: Sequence[int], caps: Sequence[int] | None = None) -> tuple[int, ...]:
    """Split `amount` in proportion to `weights` (evenly if all are 0), at most `caps[i]` each.

    What a cap cuts off goes to the others, again in proportion; to those of weight 0
    only when all the others are full. The parts sum up to `amount` unless all caps bind.
    """
    limits = list(caps) if caps is not None else [amount] * len(weights)
    parts = [0] * len(weights)
    left = amount
    while left > 0:
        open_ = [i for i, limit in enumerate(limits) if parts[i] < limit]
        weighted = [i for i in open_ if weights[i] > 0] or open_
        if not weighted:
            break
        for i, part in zip(weighted, _proportional(left, [weights[i] for i in weighted]), strict=True):
            taken = min(part, limits[i] - parts[i])
            parts[i] += taken
            left -= taken
    return tuple(parts)


def _proportional(amount: int, weights: Sequence[int]) -> list[int]:
    even = weights if any(weights) else [1] * len(weights)
    total = sum(even)
    parts = [amount * weight // total for weight in even]
    by_remainder = sorted(range(len(even)), key=lambda i: (-(amount * even[i] % total), i))
    for i in by_remainder[: amount - sum(parts)]:
        parts[i] += 1
    return parts

"""What a node's rank can be at best, for many nodes at once.

A bound is never worse than the exact rank, and NOWHERE only where the exact search
finds nothing; so a node whose bound loses needs no search. Ranks are packed into one
integer that orders as `Rank` does.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.choose import least_width
from numaplace.decide.place.rank import GPU_SIZES, PPM, Rank
from numaplace.decide.place.rows import Ints, Rows
from numaplace.decide.place.sets import least_pair_distance
from numaplace.model.layout import Layout
from numaplace.model.proximity import Level
from numaplace.model.request import Policy
from numaplace.model.settings import Settings

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

NOWHERE = np.iinfo(np.int64).max
_LOSS_BITS, _MARK_BITS = 21, 16


def packed(rank: Rank) -> int:
    """`rank` as one integer of the same order."""
    return (rank.width << _MARK_BITS | rank.marks) << _LOSS_BITS | rank.loss_ppm


def bounds_of(rows: Rows, ask: Ask, settings: Settings, which: Ints) -> Ints:
    """The packed rank of each row in `which` at best, or NOWHERE."""
    one = _in_one_unit(rows, ask, which)
    width = _widths(rows, ask, which, one)
    possible = (width > 0) & _whole_node(rows, ask, which)
    marks = _least_marks(rows, ask, which, width, one)
    loss = _least_loss(rows, ask, settings, which, width)
    rank = (width << _MARK_BITS | marks) << _LOSS_BITS | loss
    return np.asarray(np.where(possible, rank, NOWHERE), np.int64)


def _in_one_unit(rows: Rows, ask: Ask, which: Ints) -> Bools:
    """(unit, row): whether the unit alone has enough of what is counted."""
    enough = rows.unit_cpus[:, which] >= max(ask.cpus, 0)
    enough &= rows.unit_gpus[:, which] >= ask.gpus
    enough &= rows.unit_hcas[:, which] >= ask.hcas
    if ask.exclusive:
        enough &= ~rows.unit_wide[:, which]
    return enough


def _whole_node(rows: Rows, ask: Ask, which: Ints) -> Bools:
    asked_milli = 1000 * ask.cpus + ask.confined_milli + ask.floating_milli
    enough = (rows.layout[which] >= 0) & (np.maximum(rows.pool_milli[which], 0) >= asked_milli)
    enough &= (rows.gpus[which] >= ask.gpus) & (rows.hcas[which] >= ask.hcas)
    if ask.cpus:
        enough &= (rows.pool_cpus[which] >= ask.cpus) & (rows.unit_cpus[:, which].sum(0) >= ask.cpus)
    if ask.shared_hcas:
        enough &= rows.shared_hcas[which] > 0
    return enough


def _widths(rows: Rows, ask: Ask, which: Ints, one: Bools) -> Ints:
    """The least width a row can have; 0: none."""
    any_one = one.any(0)
    if ask.policy is Policy.SINGLE_NUMA_NODE:
        return np.asarray(any_one, np.int64)
    if ask.policy is not Policy.RESTRICTED:
        return np.asarray(np.where(any_one, 1, 2), np.int64)
    by_layout = np.array([least_width(layout, ask) or 0 for layout in rows.layouts] or [0], np.int64)
    width = by_layout[rows.layout[which]]
    known = rows.unit_gpus[:, which].sum(0) >= ask.gpus
    known &= rows.unit_hcas[:, which].sum(0) >= ask.hcas
    possible = np.where(width == 1, any_one, known)
    return np.asarray(np.where(possible, width, 0), np.int64)


def _least_marks(rows: Rows, ask: Ask, which: Ints, width: Ints, one: Bools) -> Ints:
    """The fewest marks a candidate of this width must violate."""
    if not ask.counts_marks:
        return np.zeros(len(which), np.int64)
    clean_one = (one & ~rows.unit_wide[:, which]).any(0)
    units = rows.units[which]
    clean = (units < 2) | (units - rows.unit_single[:, which].sum(0) >= np.minimum(width, units))
    return np.asarray(~np.where(width == 1, clean_one, clean), np.int64)


def _least_loss(rows: Rows, ask: Ask, settings: Settings, which: Ints, width: Ints) -> Ints:
    """1 - score at best, in millionths, rounded down."""
    weights = settings.weights
    parts = (  # in the order of `rank.parts_of`, so that equal parts add up to the same float
        (weights.distance, np.where(width == 1, 1.0, _by_layout(rows, which, _best_distance))),
        (weights.gpu_hca, _by_layout(rows, which, lambda layout: _best_gpu_hca(layout, ask))),
        (weights.wishes, 1.0),
        (weights.fragmentation, _best_fragmentation(rows, ask, which, width)),
        (weights.packing, _packing(rows, ask, which, spread=settings.spread_nodes)),
        (weights.memory, 1.0),
    )
    score = sum(weight * value for weight, value in parts) / (sum(weight for weight, _ in parts) or 1)
    return np.asarray(np.rint((1 - score) * PPM) + np.zeros(len(which)), np.int64)


def _by_layout(rows: Rows, which: Ints, value: Callable[[Layout], float]) -> Floats:
    values = np.array([value(layout) for layout in rows.layouts] or [1.0])
    return np.asarray(values[rows.layout[which]], np.float64)


def _best_distance(layout: Layout) -> float:
    """The distance part at best for candidates of two units or more."""
    if len(layout.units) < 2:
        return 1.0
    least = least_pair_distance(layout)
    return min(1.0, 10 / least)


def _best_gpu_hca(layout: Layout, ask: Ask) -> float:
    if not ask.gpus or not (ask.hcas or ask.shared_hcas):
        return 1.0
    return 1 - min((level for row in layout.hca_links for level in row), default=Level.SYS) / Level.SYS


def _packing(rows: Rows, ask: Ask, which: Ints, *, spread: bool) -> Floats:
    """Exact: this part looks at sums of the node only."""
    if ask.gpus:
        whole = np.array([layout.whole_gpus.bit_count() for layout in rows.layouts] or [0], np.int64)
        used, total = whole[rows.layout[which]] - rows.gpus[which] + ask.gpus, rows.cards[which]
    else:
        total = rows.usable[which]
        used = total - rows.pool_milli[which] // 1000 + ask.cpus + (ask.confined_milli + ask.floating_milli) // 1000
    fullness = np.where(total > 0, np.minimum(1.0, used / np.maximum(total, 1)), 1.0)
    return 1 - fullness if spread else fullness


def _best_fragmentation(rows: Rows, ask: Ask, which: Ints, width: Ints) -> Floats:
    """The fragmentation part at best: exact in one numa, for several by the GPUs left in the node."""
    before, empty = rows.places[which], rows.empty_places[which]
    left = np.maximum(rows.gpus[which] - ask.gpus, 0)
    wide = np.maximum(before - sum(left // size for size in GPU_SIZES), 0)
    ratio = rows.cpus_per_gpu[which]

    def places(gpus: Ints, cpus: Ints) -> Ints:
        served = np.where(ratio > 0, np.minimum(gpus, np.maximum(cpus, 0) // np.maximum(ratio, 1)), gpus)
        return np.asarray(sum(served // size for size in GPU_SIZES), np.int64)

    gpus, cpus = rows.unit_gpus[:, which], rows.unit_cpus[:, which]
    able = (gpus >= ask.gpus) & (cpus >= ask.cpus)
    narrow = np.where(able, places(gpus, cpus) - places(gpus - ask.gpus, cpus - ask.cpus), before).min(0)
    lost = np.where((width == 1) & rows.by_numa[which], narrow, wide)
    return np.where(empty > 0, (empty - lost) / np.maximum(empty, 1), 1.0)

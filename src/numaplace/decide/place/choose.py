"""The best candidate on one node: which numas, which GPUs, which HCAs.

Exact under the key of the contract (docs/explanation/how-it-decides.md): what is judged
on the whole node first, then the widths that the policy allows, narrowest first.
"""

from collections.abc import Iterable
from functools import lru_cache

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.room import Room, empty_room
from numaplace.decide.place.trial import Choice, Trial
from numaplace.model.layout import Layout
from numaplace.model.request import Policy


def choose(room: Room, ask: Ask, *, trusting: bool = False) -> Choice | None:
    """The best choice for `ask` in `room`, or None if there is none.

    `trusting` counts devices of unknown numa to every numa; only refusals ask that way.
    """
    if not node_allows(room, ask):
        return None
    trial = Trial.of(room, ask, trusting=trusting)
    for width in _widths(trial, trusting=trusting):
        choice = trial.best_of_width(width)
        if choice is not None:
            return choice
    return None if ask.aligns else trial.fallback()


def fits(room: Room, ask: Ask, *, trusting: bool = False) -> bool:
    """Whether `choose` would find anything; cheaper, since candidates that tie need not be compared."""
    if not node_allows(room, ask):
        return False
    trial = Trial.of(room, ask, trusting=trusting)
    return any(map(trial.fits_width, _widths(trial, trusting=trusting))) or (
        not ask.aligns and trial.fallback() is not None
    )


def node_allows(room: Room, ask: Ask) -> bool:
    """What is judged on the whole node: the shared pool, and that there is an HCA to share."""
    return pool_allows(room, ask) and not (ask.shared_hcas and not room.healthy_hcas)


def pool_allows(room: Room, ask: Ask) -> bool:
    """The node-level rule: the shared pool keeps what floating and confined Pods were promised."""
    if ask.cpus and ask.cpus > room.pool_cpus:
        return False
    return 1000 * ask.cpus + ask.confined_milli + ask.floating_milli <= max(0, room.pool_milli)


def _widths(trial: Trial, *, trusting: bool) -> Iterable[int]:
    """The widths that the policy allows, without those that are surely too narrow."""
    layout, policy, least = trial.room.layout, trial.ask.policy, trial.least_possible_width()
    if policy is Policy.RESTRICTED:
        width = least_width(layout, trial.ask, trusting=trusting)
        return () if width is None or width < least else (width,)
    most = min(1, len(layout.units)) if policy is Policy.SINGLE_NUMA_NODE else len(layout.units)
    return range(least, most + 1)


@lru_cache(maxsize=1 << 14)
def least_width(layout: Layout, ask: Ask, *, trusting: bool = False) -> int | None:
    """The least width at which `ask` fits the node when it is empty and healthy; None: never."""
    room = empty_room(layout)
    if not node_allows(room, ask):
        return None
    trial = Trial.of(room, ask, trusting=trusting)
    widths = range(trial.least_possible_width(), len(layout.units) + 1)
    return next((width for width in widths if trial.fits_width(width)), None)

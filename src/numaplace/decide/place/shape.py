"""What two Pods must have in common to get the same answers: a hashable key without names.

Copies of one Deployment share it, so that a refusal is worked out once for all of them.
"""

from collections.abc import Hashable

from numaplace.decide.place.ask import ask_of
from numaplace.decide.rules import rules_key
from numaplace.model.request import PodRequest


def shape_of(request: PodRequest, *, repelled: bool = True) -> Hashable:
    """All that any answer depends on, names apart; `repelled` as in `rules_key`."""
    return (ask_of(request), rules_key(request, repelled=repelled))

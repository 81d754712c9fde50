"""The book of who holds what: events go in, a new ClusterState comes out.

`reduce` is the only way a book changes; `violations` proves a book right.
"""

from numaplace.decide.track.clash import rivals
from numaplace.decide.track.events import (
    Event,
    NodeGone,
    NodeSeen,
    NodeSilent,
    PodBound,
    PodEnded,
    PodGranted,
    PodHeld,
    PodRelabelled,
    PodReleased,
    ReportArrived,
    TimePassed,
)
from numaplace.decide.track.reduce import reduce
from numaplace.decide.track.steady import steadied
from numaplace.decide.track.violations import absent, unusable, violations

__all__ = [
    "Event",
    "NodeGone",
    "NodeSeen",
    "NodeSilent",
    "PodBound",
    "PodEnded",
    "PodGranted",
    "PodHeld",
    "PodRelabelled",
    "PodReleased",
    "ReportArrived",
    "TimePassed",
    "absent",
    "reduce",
    "rivals",
    "steadied",
    "unusable",
    "violations",
]

"""Is this Pod's wish one that can be honoured: a checked `PodRequest`, or a refusal that names the field."""

from numaplace.decide.admit.check import check, check_bound
from numaplace.decide.admit.warn import warnings

__all__ = ["check", "check_bound", "warnings"]

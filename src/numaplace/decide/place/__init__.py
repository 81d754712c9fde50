"""Placement: from what a Pod asks and what nodes have left to exact CPUs, GPUs and HCAs.

`place_on` answers for one node, `plan` for many Pods on many nodes.
"""

from numaplace.decide.place.place import Placement, place_on
from numaplace.decide.place.plan import Decision, Plan, plan

__all__ = ["Decision", "Placement", "Plan", "place_on", "plan"]

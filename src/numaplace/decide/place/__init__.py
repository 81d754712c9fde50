"""Placement: from what a Pod asks and what nodes have left to exact CPUs, GPUs and HCAs.

`place_on` answers for one node and `judge` with its rules; `NodeIndex` finds the best of
many nodes, `plan` does so for many Pods, `HoldBack` keeps one node for whoever waits longest.
"""

from numaplace.decide.place.hold_back import HoldBack
from numaplace.decide.place.index import NodeIndex
from numaplace.decide.place.place import Placement, judge, place_on
from numaplace.decide.place.plan import Decision, Plan, plan, plan_with

__all__ = ["Decision", "HoldBack", "NodeIndex", "Placement", "Plan", "judge", "place_on", "plan", "plan_with"]

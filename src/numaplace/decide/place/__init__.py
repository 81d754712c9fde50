"""Placement: from what a Pod asks and what nodes have left to exact CPUs, GPUs and HCAs.

`place_on` answers for one node and `judge` with its rules; `NodeIndex` finds the best of
many nodes, `plan` does so for many Pods, `HoldBack` keeps one node for whoever waits longest.
What reports say of places (`asked_text`, `room_of`, `served_gpus` …) is counted here too.
"""

from numaplace.decide.place.ask import ask_of
from numaplace.decide.place.choose import least_width
from numaplace.decide.place.devices import nearest_hca
from numaplace.decide.place.hold_back import HoldBack
from numaplace.decide.place.index import NodeIndex
from numaplace.decide.place.nearest import nearness
from numaplace.decide.place.place import Placement, judge, place_on
from numaplace.decide.place.plan import Decision, Plan, plan, plan_with
from numaplace.decide.place.rank import GPU_SIZES, Part, served_gpus
from numaplace.decide.place.room import Room, room_of
from numaplace.decide.place.sentence import asked_text

__all__ = [
    "GPU_SIZES",
    "Decision",
    "HoldBack",
    "NodeIndex",
    "Part",
    "Placement",
    "Plan",
    "Room",
    "ask_of",
    "asked_text",
    "judge",
    "least_width",
    "nearest_hca",
    "nearness",
    "place_on",
    "plan",
    "plan_with",
    "room_of",
    "served_gpus",
]

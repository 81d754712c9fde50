"""Limits: times and numbers that an operator may set for the planner's process."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The defaults in one place; times in seconds."""

    outstanding: int = 64  # plans whose Pods are not bound yet; many hints slow the scheduler down
    silent_s: float = 900.0  # an agent that says when it was last alive is stale after this
    stuck_s: float = 30.0  # how long the scheduler may refuse a planned node before the plan is given up
    aside_s: float = 60.0  # how long a node is left alone, for Pods of one kind, after a plan failed there
    repeat_s: float = 3600.0  # events about Pods that wait expire, so they are said again
    ungate_after_s: float | None = None  # how long Pods wait at the gate before an autoscaler sees them
    tick_s: float = 1.0  # how often the passing of time is looked at
    extender_deadline_s: float = 4.0  # in which the scheduler has its answer; below its httpTimeout (5 s by default)
    extender_body_bytes: int = 64 << 20  # 5,000 whole Nodes are about 25 MiB, their names 0.1
    writes: int = 16  # conditions and events written at one time, and as many lifts, evictions and corrections

"""Refusal: an answer "no", with a stable code, numbers and one sentence to act on.

Codes are part of the product's interface (docs/reference/refusals.md): events,
conditions and metrics carry them, so they are never renamed.
"""

from dataclasses import dataclass
from enum import StrEnum

from numaplace.model.ids import NodeName, NumaId


class Code(StrEnum):
    """Why not. The order is the order of precedence on one node."""

    SPEC_INVALID = "SPEC_INVALID"
    NODE_NOT_ENABLED = "NODE_NOT_ENABLED"
    NODE_RULE = "NODE_RULE"
    NO_TOPOLOGY = "NO_TOPOLOGY"
    STALE_TOPOLOGY = "STALE_TOPOLOGY"
    GPUS_SHORT = "GPUS_SHORT"
    HCAS_SHORT = "HCAS_SHORT"
    CPUS_SHORT = "CPUS_SHORT"
    HUGEPAGES_SHORT = "HUGEPAGES_SHORT"
    MEMORY_SHORT = "MEMORY_SHORT"
    SMT_PARTIAL = "SMT_PARTIAL"
    DEVICE_NUMA_UNKNOWN = "DEVICE_NUMA_UNKNOWN"
    DEVICE_UNHEALTHY = "DEVICE_UNHEALTHY"
    NUMA_EXCLUSIVE = "NUMA_EXCLUSIVE"
    NOT_ALIGNABLE = "NOT_ALIGNABLE"
    HELD_BACK = "HELD_BACK"
    WAITING_FOR_ACK = "WAITING_FOR_ACK"

    @property
    def precedence(self) -> int:
        """Its place in the order: the least is a node's answer, the greatest of many nodes' is the nearest miss."""
        return _PRECEDENCE[self]


_PRECEDENCE = {code: place for place, code in enumerate(Code)}

SHORT = (Code.GPUS_SHORT, Code.HCAS_SHORT, Code.CPUS_SHORT, Code.HUGEPAGES_SHORT, Code.MEMORY_SHORT)
"""The whole node has too little of one resource."""


@dataclass(frozen=True, slots=True)
class NumaRoom:
    """What one numa has to give at the moment of a refusal."""

    numa: NumaId
    cpus: int  # that an exclusive request could take
    gpus: int
    hcas: int
    memory_bytes: int | None
    marks: tuple[str, ...] = ()  # "single", "wide"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a Pod has no place on a node (or, with `node` None, anywhere)."""

    code: Code
    sentence: str
    node: NodeName | None = None
    rooms: tuple[NumaRoom, ...] = ()  # by numa; empty where rooms are not the matter
    fits: str = ""  # the best thing that would fit there, in words; empty if nothing would


NO_NODE = Refusal(Code.NODE_RULE, "there is no node")
"""The answer of a cluster without nodes."""

"""What can be made to go wrong with a request to the fake API server."""

import asyncio
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """An error instead of the work, like a busy server, a proxy or a lost race give it."""

    code: int
    reason: str = ""
    message: str = "injected"
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The work is done, and the connection breaks before the answer."""


@dataclass(frozen=True, slots=True)
class DropRequest:
    """The connection breaks before the work is done."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Neither work nor answer, until the client gives up."""


@dataclass(frozen=True, slots=True)
class HoldAnswer:
    """The work is done; its answer comes when `until` is set, and says how things were before."""

    until: asyncio.Event = field(default_factory=asyncio.Event)


Effect = Answer | HoldAnswer | LoseAnswer | DropRequest | Stall


@dataclass(slots=True)
class Fault:
    """An effect on the next `times` requests of that method whose path contains `path`."""

    effect: Effect
    method: str = ""  # empty: any
    path: str = ""
    times: int = 1

    def strikes(self, method: str, path: str) -> bool:
        """Whether it hits this request; it wears off by that."""
        if self.times < 1 or self.method not in ("", method) or self.path not in path:
            return False
        self.times -= 1
        return True

"""How long to wait before the next attempt: a value that grows with failures.

Its state outlives one call and it draws nothing by itself, so whoever waits brings
the random number and the sleep.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double from `first_s` to `most_s`, each shortened by up to half by chance."""

    first_s: float = 0.2
    most_s: float = 30.0
    failures: int = 0

    def failed(self) -> "Backoff":
        """One failure more."""
        return replace(self, failures=self.failures + 1)

    def rested(self) -> "Backoff":
        """After a success: the waits begin anew."""
        return replace(self, failures=0)

    def delay_s(self, draw: float) -> float:
        """Seconds to wait now; `draw` is a random number from 0 to 1. Without a failure there is no wait."""
        if not self.failures:
            return 0.0
        # 2**30 steps are past every `most_s`, and a larger power would overflow after days of failures.
        whole = min(self.most_s, self.first_s * 2.0 ** min(self.failures - 1, 30))
        return whole * (1.0 - draw / 2)

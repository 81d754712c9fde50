"""An API server in memory that speaks HTTP and fails on demand; it passes the contract tests of the real one.

For tests of whatever uses `Kube`, where a real API server is too slow or too healthy.
It knows no admission, no authorization, and no field of most kinds.
"""

from numaplace.adapters.kube.fake.faults import Answer, DropRequest, Fault, HoldAnswer, LoseAnswer, Stall
from numaplace.adapters.kube.fake.server import Asked, FakeServer

__all__ = ["Answer", "Asked", "DropRequest", "FakeServer", "Fault", "HoldAnswer", "LoseAnswer", "Stall"]

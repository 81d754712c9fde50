"""The planner's process: gives gated Pods their place before the scheduler sees them.

A Pod's way: `watches` → `keeper` (books, tells news) → `planner` (decides, holds) →
`carrier` (hint, gate away with the pin) → `keeper` again, once the Pod is bound.
`service` wires them for as long as `election` says that this planner leads; `face`
shows; `notices` tells people. Where kube-scheduler asks us, `extender` answers from
the planner's plans.
"""

from numaplace.services.planner.election import Times
from numaplace.services.planner.extender import DoorAddress, TlsFiles
from numaplace.services.planner.limits import Limits
from numaplace.services.planner.service import LEASE, Address, Seat, run, serve

__all__ = ["LEASE", "Address", "DoorAddress", "Limits", "Seat", "Times", "TlsFiles", "run", "serve"]

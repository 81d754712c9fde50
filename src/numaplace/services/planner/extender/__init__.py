"""The extender face: kube-scheduler asks where a Pod may go, before it binds it.

`door` is the HTTP around `answers`, one verb each; `places` asks the planner for the
place that an answer needs; `tls` keeps the door's certificate. The planner is complete
without all of this and imports nothing of it.
"""

from numaplace.services.planner.extender.answers import Extender
from numaplace.services.planner.extender.door import Door, DoorAddress
from numaplace.services.planner.extender.places import Places
from numaplace.services.planner.extender.tls import TlsFiles

__all__ = ["Door", "DoorAddress", "Extender", "Places", "TlsFiles"]

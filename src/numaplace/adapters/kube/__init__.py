"""A Kubernetes API server: one small asyncio client, typed where numaplace reads, bytes elsewhere.

`load_kubeconfig` or `in_cluster` give an `Access`, `Kube` has the verbs, `Follower`
keeps up with a resource. `fake` is an API server in memory that fails on demand.
Needs the extra `kube`.
"""

from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.backoff import Backoff
from numaplace.adapters.kube.binding import bind
from numaplace.adapters.kube.client import Kube, Page
from numaplace.adapters.kube.errors import (
    AnswerLostError,
    BusyError,
    ConflictError,
    DeniedError,
    ExpiredError,
    InvalidError,
    KubeError,
    NotFoundError,
    StatusError,
    UnreachableError,
    UntrustedError,
)
from numaplace.adapters.kube.events import About, EventType, Reporter, post_event
from numaplace.adapters.kube.eviction import evict
from numaplace.adapters.kube.follow import Broken, Follower, Gone, Seen, Step, Synced, Trouble
from numaplace.adapters.kube.in_cluster import in_cluster, is_in_cluster
from numaplace.adapters.kube.kubeconfig import default_paths, existing, load_kubeconfig
from numaplace.adapters.kube.leases import Lease, read_lease, write_lease
from numaplace.adapters.kube.objects import Key, key_of
from numaplace.adapters.kube.patch import Patch, apply, json_patch, merge, strategic
from numaplace.adapters.kube.resources import Resource
from numaplace.adapters.kube.transport import Patience

__all__ = [
    "About",
    "Access",
    "AnswerLostError",
    "Backoff",
    "Broken",
    "BusyError",
    "ConflictError",
    "DeniedError",
    "EventType",
    "ExpiredError",
    "Follower",
    "Gone",
    "InvalidError",
    "Key",
    "Kube",
    "KubeError",
    "Lease",
    "NotFoundError",
    "Page",
    "Patch",
    "Patience",
    "Reporter",
    "Resource",
    "Seen",
    "StatusError",
    "Step",
    "Synced",
    "Trouble",
    "UnreachableError",
    "UntrustedError",
    "apply",
    "bind",
    "default_paths",
    "evict",
    "existing",
    "in_cluster",
    "is_in_cluster",
    "json_patch",
    "key_of",
    "load_kubeconfig",
    "merge",
    "post_event",
    "read_lease",
    "strategic",
    "write_lease",
]

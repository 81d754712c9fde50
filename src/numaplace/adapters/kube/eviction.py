"""Asking a Pod to leave its node through the eviction API, which heeds disruption budgets."""

import msgspec

from numaplace.adapters.kube.client import Kube
from numaplace.adapters.kube.errors import BusyError, NotFoundError
from numaplace.adapters.kube.objects import Key
from numaplace.adapters.kube.resources import PODS
from numaplace.adapters.kube.transport import Request


async def evict(kube: Kube, pod: Key, *, uid: str) -> bool:
    """Ask for the eviction of the Pod with this UID; True when it goes or is gone.

    False when a PodDisruptionBudget does not allow it now: that is a 429 too, but one
    that only the budget's Pods can end, so it is not repeated here. ConflictError when
    another Pod has the name now; the API server takes about ten seconds to say so.
    """
    path = PODS.path(pod.namespace, pod.name, "eviction")
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"preconditions": {"uid": uid}},
    }
    try:
        await kube.send(Request("POST", path, body=msgspec.json.encode(body), once=True))
    except NotFoundError:
        return True
    except BusyError as error:
        if error.code != 429:
            raise
        return False
    return True

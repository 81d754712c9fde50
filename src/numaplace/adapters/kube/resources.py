"""The resources of an API server that numaplace touches, and their paths."""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object, as the API server serves it; `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects spell it, like `v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of one object, of all of a namespace, or of all; names are quoted."""
        steps = [_folder(self, namespace if self.namespaced else ""), *filter(None, (name, subresource))]
        return steps[0] + "".join(f"/{quote(step, safe='')}" for step in steps[1:])


@lru_cache(maxsize=1024)
def _folder(resource: Resource, namespace: str) -> str:
    """Where all objects of a resource are, or those of a namespace."""
    steps = ["apis" if resource.group else "api", *resource.api_version.split("/")]
    if namespace:
        steps += ["namespaces", namespace]
    return "/" + "/".join(quote(step, safe="") for step in (*steps, resource.plural))


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
REPORTS = Resource(
    "topology.node.k8s.io", "v1alpha2", "noderesourcetopologies", "NodeResourceTopology", namespaced=False
)
GATE_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingadmissionpolicybindings",
    "MutatingAdmissionPolicyBinding",
    namespaced=False,
)

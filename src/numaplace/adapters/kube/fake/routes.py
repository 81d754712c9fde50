"""Paths of the fake API server: which resource, object and subresource is meant."""

from dataclasses import dataclass
from urllib.parse import unquote

from numaplace.adapters.kube import resources
from numaplace.adapters.kube.fake.refusals import RefusalError
from numaplace.adapters.kube.resources import NAMESPACES, Resource

SERVED = tuple(thing for thing in vars(resources).values() if isinstance(thing, Resource))


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names; `name` is empty for all objects, `namespace` for those of all namespaces."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def find_target(path: str) -> Target:
    """What `path` names; a refusal where nothing of that kind is served."""
    for resource in SERVED:
        prefix = resource.path().removesuffix(resource.plural)
        if not path.startswith(prefix):
            continue
        steps = [unquote(step) for step in path.removeprefix(prefix).split("/")]
        namespace = ""
        if resource.namespaced and steps[0] == "namespaces" and len(steps) > 2:
            namespace, steps = steps[1], steps[2:]
        elif resource == NAMESPACES and len(steps) > 2:
            continue  # something inside a namespace
        if steps[0] == resource.plural and len(steps) <= 3:
            return Target(resource, namespace, *steps[1:])
    raise RefusalError(404, "NotFound", "the server could not find the requested resource")

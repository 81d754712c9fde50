"""What GET, POST, PUT, PATCH and DELETE do to the store of the fake API server."""

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from numaplace.adapters.kube.fake import patching, pods, refusals
from numaplace.adapters.kube.fake.applying import Owners
from numaplace.adapters.kube.fake.refusals import RefusalError
from numaplace.adapters.kube.fake.routes import Target
from numaplace.adapters.kube.fake.store import Object, Store, check_uid
from numaplace.adapters.kube.objects import Key
from numaplace.adapters.kube.resources import PODS, REPORTS, Resource

_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


@dataclass(slots=True)
class Verbs:
    """Requests without their transport."""

    store: Store
    _rests: dict[str, tuple[int, list[Object]]] = field(default_factory=dict)  # of lists half read
    _owners: dict[tuple[Resource, Key], Owners] = field(default_factory=dict)

    def answer(self, method: str, target: Target, query: dict[str, str], content_type: str, body: Any) -> Object:
        """The body of a successful answer, or a refusal."""
        key = Key(target.namespace, target.name)
        match method:
            case "GET" if target.name:
                return self.store.get(target.resource, key)
            case "GET":
                return self._list(target, query)
            case "POST" if target.name:
                return self._act(target, key, body)
            case "POST":
                return self._create(target.resource, target.namespace, body)
            case "PUT":
                return self._write(target, key, body)
            case "PATCH" if content_type == "application/apply-patch+yaml":
                return self._apply(target, key, body, query)
            case "PATCH":
                old = self.store.get(target.resource, key)
                return self._write(target, key, _patched(target.resource, old, content_type, body))
            case "DELETE":
                return self._delete(target.resource, key, body)
        raise RefusalError(405, "MethodNotAllowed", f"{method} is not known here")

    def forget(self) -> None:
        """Lists that were half read cannot be read on."""
        self._rests.clear()

    def _list(self, target: Target, query: dict[str, str]) -> Object:
        more = query.get("continue")
        if more:
            if more not in self._rests:
                raise refusals.expired("The provided continue parameter is too old")
            version, things = self._rests.pop(more)
        else:
            version, things = self.store.version, self.store.all_of(target.resource, target.namespace)
            things = [thing for thing in things if _selected(thing, query.get("labelSelector", ""))]
        limit = int(query.get("limit") or len(things) or 1)
        metadata: Object = {"resourceVersion": str(version)}
        if things[limit:]:
            metadata["continue"] = uuid4().hex
            self._rests[metadata["continue"]] = (version, things[limit:])
        resource = target.resource
        return {
            "kind": f"{resource.kind}List",
            "apiVersion": resource.api_version,
            "metadata": metadata,
            "items": things[:limit],
        }

    def _create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if resource == REPORTS and "kind" not in body:  # built-in kinds need not be said
            raise RefusalError(400, "BadRequest", "Object 'Kind' is missing")
        return self.store.add(resource, namespace, pods.created(body) if resource == PODS else body)

    def _act(self, target: Target, key: Key, body: Object) -> Object:
        match (target.resource, target.subresource):
            case (resource, "binding") if resource == PODS:
                pods.bound(self.store, key, body)
            case (resource, "eviction") if resource == PODS:
                pods.ended(self.store, key, body.get("deleteOptions") or {})
            case _:
                raise RefusalError(404, "NotFound", "the server could not find the requested resource")
        return dict(_SUCCESS)

    def _write(self, target: Target, key: Key, thing: Object) -> Object:
        kept = self.store.get(target.resource, key)
        if target.resource == PODS:
            thing = pods.status_changed(kept, thing) if target.subresource == "status" else pods.changed(kept, thing)
        return self.store.change(target.resource, key, thing)

    def _apply(self, target: Target, key: Key, intent: Object, query: dict[str, str]) -> Object:
        manager = query.get("fieldManager")
        if not manager:
            raise RefusalError(422, "Invalid", "PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
        new = key not in self.store.objects.get(target.resource, {})
        owners = Owners() if new else self._owners.setdefault((target.resource, key), Owners())
        old = {} if new else self.store.get(target.resource, key)
        thing = owners.apply(old, intent, manager, force=query.get("force") == "true")
        self._owners[target.resource, key] = owners
        if not new:
            return self._write(target, key, thing)
        thing["metadata"] = {**thing.get("metadata", {}), "name": key.name}
        return self._create(target.resource, target.namespace, thing)

    def _delete(self, resource: Resource, key: Key, options: Object) -> Object:
        if resource == PODS:
            return pods.ended(self.store, key, options)
        check_uid(resource, self.store.get(resource, key), (options.get("preconditions") or {}).get("uid"))
        self._owners.pop((resource, key), None)
        return self.store.remove(resource, key)


def _patched(resource: Resource, old: Object, content_type: str, body: Any) -> Object:
    ways: dict[str, Any] = {
        "application/strategic-merge-patch+json": patching.strategic,
        "application/merge-patch+json": patching.merge,
        "application/json-patch+json": patching.json_patch,
    }
    if content_type not in ways or (resource == REPORTS and "strategic" in content_type):
        raise RefusalError(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
    patched: Object = ways[content_type](old, body)
    return patched


def _selected(thing: Object, selector: str) -> bool:
    """Whether the labels fit; only `key=value` and `key` are understood."""
    labels = thing["metadata"].get("labels") or {}
    for term in filter(None, selector.split(",")):
        name, equals, value = term.partition("=")
        if name not in labels or (equals and labels[name] != value):
            return False
    return True

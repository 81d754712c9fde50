"""Identities that may do what is written down and nothing else, for whatever runs against the control plane."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import msgspec

from numaplace.adapters.kube import ConflictError, Key, Kube, Resource
from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.credentials import Credential, Fixed
from tests.cluster.control_plane import ControlPlane

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
_GROUP = "rbac.authorization.k8s.io"
_ROLES = Resource(_GROUP, "v1", "clusterroles", "ClusterRole", namespaced=False)
_BINDINGS = Resource(_GROUP, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources of one API group."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]


CONTRACT = "contract"  # whoever runs the contract of the API server
_WRITE = ("get", "list", "watch", "create", "update", "patch", "delete")
CONTRACT_RULES = (
    Rule("", ("configmaps", "pods"), _WRITE),
    Rule("", ("pods/status",), ("patch",)),
    Rule("", ("pods/binding", "pods/eviction"), ("create",)),
    Rule("events.k8s.io", ("events",), ("list", "create")),
    Rule("coordination.k8s.io", ("leases",), ("get", "create", "update")),
    Rule("topology.node.k8s.io", ("noderesourcetopologies",), _WRITE),
    Rule("numaplace.dev", ("gates",), ("lift",)),  # the chart's policies hold in the lane
)


async def identity(plane: ControlPlane, user: str, rules: Sequence[Rule]) -> Access:
    """Access as `user`, who may do what `rules` say in every namespace."""
    async with Kube(plane.admin()) as admin:
        await grant(admin, user, rules)
    return plane.access(user)


async def service_account(
    plane: ControlPlane, admin: Kube, account: Key, *, bound_to: Mapping[str, str] | None = None
) -> Access:
    """Access as a service account that is there already, by a token as Pods get it; `bound_to` names such a Pod."""
    token = await request_token(admin, account, {"boundObjectRef": bound_to} if bound_to else {})
    return replace(plane.access("nobody"), credentials=Fixed(Credential(token)), namespace=account.namespace)


async def request_token(admin: Kube, account: Key, spec: Mapping[str, Any]) -> str:
    """A token of a service account; `spec` is that of a TokenRequest."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = await admin.create(SERVICE_ACCOUNTS, asked, account.namespace, name=account.name, subresource="token")
    token: str = msgspec.json.decode(answer)["status"]["token"]
    return token


@asynccontextmanager
async def granted(admin: Kube, user: str, rules: Sequence[Rule]) -> AsyncIterator[None]:
    """For as long as it is entered `user` may do what `rules` say, beside what it may do anyway."""
    await grant(admin, user, rules)
    try:
        yield
    finally:
        for resource in (_BINDINGS, _ROLES):
            await admin.delete(resource, _named(user, rules))


async def grant(admin: Kube, user: str, rules: Sequence[Rule]) -> None:
    """Let `user` do what `rules` say, beside what it may do already; a second grant of the same changes nothing."""
    name = _named(user, rules)
    role = {
        "metadata": {"name": name},
        "rules": [{"apiGroups": [r.group], "resources": r.resources, "verbs": r.verbs} for r in rules],
    }
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": _GROUP, "kind": "User", "name": user}],
    }
    for resource, body in ((_ROLES, role), (_BINDINGS, binding)):
        try:
            await admin.create(resource, body)
        except ConflictError:
            continue


def _named(user: str, rules: Sequence[Rule]) -> str:
    return f"test:{user}:{sha256(repr(rules).encode()).hexdigest()[:8]}"

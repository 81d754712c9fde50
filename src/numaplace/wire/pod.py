"""A Pod object, from the API or from a manifest, into the noun `Pod`.

The one place that knows a Pod's spelling. What the Pod may ask is judged by
`decide/admit`; here only what is no Pod at all is an error.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from numaplace.model.errors import InputError
from numaplace.model.ids import ContainerName, NodeName, PodUid
from numaplace.model.pod import Container, Pod
from numaplace.model.request import ContainerKind
from numaplace.model.rules import CPU
from numaplace.wire import pod_object as obj
from numaplace.wire.annotation import read_documents
from numaplace.wire.pod_rules import read_rules, read_unjudged
from numaplace.wire.quantity import parse_quantity
from numaplace.wire.strict import LONGEST_LABEL, convert, read_name, shown

BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_PRIORITIES = range(-(2**31), 2**31)


def decode(thing: object, where: str, priorities: Mapping[str, int] = BUILT_IN_PRIORITIES) -> Pod:
    """The Pod in a parsed JSON or YAML mapping; InputError names the field inside `where`.

    A namespace that is not written is `default`, a UID that is not written is made
    of namespace and name. `priorities` are the known priority classes; an unknown
    class counts as 0 (the API server would not let such a Pod in).
    """
    return pod_of(convert(thing, obj.PodObject, where), where, priorities)


def pod_of(pod: obj.PodObject, where: str, priorities: Mapping[str, int] = BUILT_IN_PRIORITIES) -> Pod:
    """The same for an object that is typed already, as watches deliver them."""
    meta, spec, status = pod.metadata, pod.spec, pod.status or obj.PodStatus()
    uid, name, created_s = identity_of(meta, where)
    namespace = read_name(meta.namespace or "default", f"{where}: metadata.namespace", LONGEST_LABEL)
    annotations = meta.annotations or {}
    return Pod(
        uid=uid,
        namespace=namespace,
        name=name,
        containers=_containers(spec, where),
        annotations=annotations,
        documents=read_documents(annotations),
        rules=read_rules(spec, meta, namespace, where),
        overhead_milli=_amounts(spec.overhead, f"{where}: spec.overhead"),
        pod_level_milli=_pod_level(spec.resources, where),
        resizable_cpu=_resizable(spec),
        host_network=bool(spec.host_network),
        unjudged=read_unjudged(spec),
        scheduler=spec.scheduler_name or "default-scheduler",
        priority=_priority(spec, priorities, where),
        priority_class=(spec.priority_class_name or "") if spec.priority is None else "",
        created_s=created_s,
        gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        hint=NodeName(status.nominated_node_name) if status.nominated_node_name else None,
        node_name=NodeName(spec.node_name) if spec.node_name else None,
        ended=status.phase in obj.ENDED_PHASES or (meta.deletion_timestamp is not None and not spec.node_name),
        owner=_owner(meta),
    )


def identity_of(meta: obj.Metadata, where: str) -> tuple[PodUid, str, float]:
    """By what a Pod differs from its likes: UID, name, and age in seconds since 1970."""
    if not meta.name:
        raise InputError(f"{where}: metadata.name", found="nothing", wanted="the name of the Pod")
    name = read_name(meta.name, f"{where}: metadata.name")
    uid = PodUid(meta.uid or f"{meta.namespace or 'default'}/{name}")
    return uid, name, _seconds(meta.creation_timestamp, f"{where}: metadata.creationTimestamp")


def _containers(spec: obj.PodSpec, where: str) -> tuple[Container, ...]:
    """Init containers and sidecars as listed, then app containers; no two of one name."""
    if not spec.containers:
        raise InputError(f"{where}: spec.containers", found="an empty list", wanted="at least one container")
    listed = [(one, ContainerKind.APP, "containers") for one in spec.containers]
    first = [(one, _init_kind(one), "initContainers") for one in spec.init_containers or ()]
    containers = tuple(_container(one, kind, f"{where}: spec.{field}") for one, kind, field in first + listed)
    names = [container.name for container in containers]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(
            f"{where}: spec", found=f"two containers named {double!r}", wanted="a name of its own for each"
        )
    return containers


def _init_kind(one: obj.Container) -> ContainerKind:
    return ContainerKind.SIDECAR if one.restart_policy == "Always" else ContainerKind.INIT


def _container(one: obj.Container, kind: ContainerKind, where: str) -> Container:
    read_name(one.name, f"{where}: name", LONGEST_LABEL)
    resources = one.resources or obj.Resources()
    at = f"{where} {one.name!r}: resources"
    return Container(
        name=ContainerName(one.name),
        kind=kind,
        requests_milli=_amounts(resources.requests, f"{at}.requests"),
        limits_milli=_amounts(resources.limits, f"{at}.limits"),
    )


def _amounts(quantities: obj.Quantities | None, where: str) -> dict[str, int]:
    return {name: parse_quantity(text, f"{where}[{name[:80]!r}]") for name, text in (quantities or {}).items()}


def _pod_level(resources: obj.Resources | None, where: str) -> dict[str, int]:
    """The requests for the whole Pod; a limit stands in for a request that is not written."""
    if resources is None:
        return {}
    at = f"{where}: spec.resources"
    return _amounts(resources.limits, f"{at}.limits") | _amounts(resources.requests, f"{at}.requests")


def _resizable(spec: obj.PodSpec) -> tuple[ContainerName, ...]:
    every = [*(spec.init_containers or ()), *spec.containers]
    return tuple(
        ContainerName(one.name) for one in every if any(p.resource_name == CPU for p in one.resize_policy or ())
    )


def _priority(spec: obj.PodSpec, priorities: Mapping[str, int], where: str) -> int:
    if spec.priority is None:
        return priorities.get(spec.priority_class_name or "", 0)
    if spec.priority not in _PRIORITIES:
        raise InputError(f"{where}: spec.priority", found=shown(spec.priority), wanted="a 32-bit whole number")
    return spec.priority


def _seconds(text: str | None, where: str) -> float:
    """Seconds since 1970 of an RFC 3339 time; 0 where none is written."""
    if not text:
        return 0.0
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise InputError(where, found=shown(text), wanted="a time like 2026-01-31T12:00:00Z") from error


def _owner(meta: obj.Metadata) -> str:
    for reference in meta.owner_references or ():
        if reference.controller:
            return f"{reference.kind}/{reference.name}"
    return ""

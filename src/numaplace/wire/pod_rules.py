"""Selectors, affinities and tolerations of a Pod object into the nouns of `model.rules`.

Called by `wire.pod`; nodes and Pods are compared with the result by `decide/rules`.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from numaplace.decide.rules.expressions import integer
from numaplace.model.errors import InputError
from numaplace.model.rules import (
    TAINT_EFFECTS,
    HostPort,
    LabelSelector,
    NodeTerm,
    Operator,
    PodRules,
    PodTerm,
    PreferredTerm,
    Requirement,
    Spread,
    Toleration,
)
from numaplace.wire import pod_object as obj
from numaplace.wire.strict import shown

T = TypeVar("T")

_SET_OPERATORS = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_FIELD_OPERATORS = (Operator.IN, Operator.NOT_IN)
_TOLERATION_OPERATORS = ("Equal", "Exists", "Lt", "Gt")
_POLICIES = ("Honor", "Ignore")
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_PORTS = range(1, 65536)


def read_rules(spec: obj.PodSpec, meta: obj.Metadata, namespace: str, where: str) -> PodRules:
    """What the Pod demands of its node; `amounts` is left to decide/admit, `volumes` to whoever knows the claims."""
    labels = meta.labels or {}
    affinity = spec.affinity or obj.Affinity()
    node = affinity.node_affinity or obj.NodeAffinity()
    near, apart = affinity.pod_affinity or obj.PodAffinity(), affinity.pod_anti_affinity or obj.PodAffinity()
    at = f"{where}: spec.affinity"
    return PodRules(
        labels=labels,
        node_selector=spec.node_selector or {},
        required_terms=None if node.required is None else read_node_terms(node.required, f"{at}.nodeAffinity"),
        preferred_terms=tuple(_preferred(term, f"{at}.nodeAffinity") for term in node.preferred or ()),
        tolerations=tuple(_toleration(one, f"{where}: spec.tolerations") for one in spec.tolerations or ()),
        affinity=tuple(_pod_term(term, labels, namespace, f"{at}.podAffinity") for term in near.required or ()),
        anti_affinity=tuple(
            _pod_term(term, labels, namespace, f"{at}.podAntiAffinity") for term in apart.required or ()
        ),
        spreads=_spreads(spec, labels, f"{where}: spec.topologySpreadConstraints"),
        ports=_ports(spec, f"{where}: spec"),
        claims=_claims(spec, meta),
        leaving=meta.deletion_timestamp is not None,
    )


def read_unjudged(spec: obj.PodSpec) -> tuple[str, ...]:
    """Hard demands that decide/rules does not judge, in words."""
    return ("resource claims",) if spec.resource_claims else ()


def read_requirement(expression: obj.Expression, legal: Iterable[Operator], where: str) -> Requirement:
    """One expression; InputError when the operator is unknown or its number of values is wrong."""
    operator = _chosen(expression.operator, tuple(legal), f"{where} on {shown(expression.key)}: operator")
    values = tuple(expression.values or ())
    wrong = _wrong_values(operator, values)
    if wrong:
        raise InputError(
            f"{where} on {shown(expression.key)}: {operator}",
            found=f"{len(values)} values, {shown(', '.join(values))}",
            wanted=wrong,
        )
    return Requirement(expression.key, operator, values)


def _wrong_values(operator: Operator, values: tuple[str, ...]) -> str:
    """What the values should be, or nothing when they are right."""
    if operator in (Operator.IN, Operator.NOT_IN):
        return "" if values else "at least one value"
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return "no values" if values else ""
    return "" if len(values) == 1 and integer(values[0]) is not None else "one whole number"


def _chosen(text: str, legal: tuple[T, ...], where: str) -> T:
    for one in legal:
        if one == text:
            return one
    raise InputError(where, found=shown(text), wanted=", ".join(map(str, legal)))


def read_node_terms(selector: obj.NodeSelector, where: str) -> tuple[NodeTerm, ...]:
    """The terms of a node selector; InputError when there is none, or one is not well formed."""
    if not selector.node_selector_terms:
        raise InputError(f"{where}: nodeSelectorTerms", found="an empty list", wanted="at least one term")
    return tuple(_node_term(term, where) for term in selector.node_selector_terms)


def _node_term(term: obj.NodeSelectorTerm, where: str) -> NodeTerm:
    for one in term.match_fields or ():
        if one.key != "metadata.name" or len(one.values or ()) != 1:
            found = f"{shown(one.key)} with {len(one.values or ())} values"
            raise InputError(f"{where}: matchFields", found=found, wanted="metadata.name with one value")
    return NodeTerm(
        labels=tuple(read_requirement(one, Operator, where) for one in term.match_expressions or ()),
        fields=tuple(read_requirement(one, _FIELD_OPERATORS, where) for one in term.match_fields or ()),
    )


def _preferred(wish: obj.PreferredNodeTerm, where: str) -> PreferredTerm:
    if not 1 <= wish.weight <= 100:
        raise InputError(f"{where}: weight", found=shown(wish.weight), wanted="1..100")
    return PreferredTerm(wish.weight, _node_term(wish.preference, where))


def _selector(selector: obj.LabelSelector, where: str) -> LabelSelector:
    labels = tuple(Requirement(key, Operator.IN, (value,)) for key, value in (selector.match_labels or {}).items())
    return LabelSelector(
        labels + tuple(read_requirement(one, _SET_OPERATORS, where) for one in selector.match_expressions or ())
    )


def _keyed_selector(
    one: obj.PodAffinityTerm | obj.SpreadConstraint, differing: Iterable[str], labels: Mapping[str, str], where: str
) -> LabelSelector | None:
    """A selector with matchLabelKeys (and those `differing`) as requirements, as the API server writes them."""
    if one.label_selector is None:
        return None
    keyed = [(key, Operator.IN) for key in one.match_label_keys or ()] + [(key, Operator.NOT_IN) for key in differing]
    more = tuple(Requirement(key, operator, (labels[key],)) for key, operator in keyed if key in labels)
    return LabelSelector(_selector(one.label_selector, where).requirements + more)


def _topology_key(key: str, where: str) -> str:
    if not key:
        raise InputError(
            f"{where}: topologyKey", found="nothing", wanted="a label of nodes, like kubernetes.io/hostname"
        )
    return key


def _pod_term(term: obj.PodAffinityTerm, labels: Mapping[str, str], namespace: str, where: str) -> PodTerm:
    """One term of Pod affinity or anti-affinity, with the API server's defaults."""
    chosen = None if term.namespace_selector is None else _selector(term.namespace_selector, where)
    names = tuple(term.namespaces or ())
    return PodTerm(
        topology_key=_topology_key(term.topology_key, where),
        selector=_keyed_selector(term, term.mismatch_label_keys or (), labels, where),
        namespaces=names if names or chosen is not None else (namespace,),
        namespace_selector=chosen,
    )


def _spreads(spec: obj.PodSpec, labels: Mapping[str, str], where: str) -> tuple[Spread, ...]:
    """The constraints that forbid; those that only wish are left out."""
    listed = spec.topology_spread_constraints or ()
    for one in listed:
        _chosen(one.when_unsatisfiable, _UNSATISFIABLE, f"{where}: whenUnsatisfiable")
    return tuple(_spread(one, labels, where) for one in listed if one.when_unsatisfiable == "DoNotSchedule")


def _spread(one: obj.SpreadConstraint, labels: Mapping[str, str], where: str) -> Spread:
    min_domains = 1 if one.min_domains is None else one.min_domains
    for field, number in (("maxSkew", one.max_skew), ("minDomains", min_domains)):
        if number < 1:
            raise InputError(f"{where}: {field}", found=shown(number), wanted="at least 1")
    return Spread(
        topology_key=_topology_key(one.topology_key, where),
        max_skew=one.max_skew,
        selector=_keyed_selector(one, (), labels, where),
        min_domains=min_domains,
        honors_affinity=_chosen(one.node_affinity_policy or "Honor", _POLICIES, f"{where}: nodeAffinityPolicy")
        == "Honor",
        honors_taints=_chosen(one.node_taints_policy or "Ignore", _POLICIES, f"{where}: nodeTaintsPolicy") == "Honor",
    )


def _ports(spec: obj.PodSpec, where: str) -> tuple[HostPort, ...]:
    """The node's ports that app containers and sidecars take; on the host network each port is one of the node's."""
    stay = [one for one in spec.init_containers or () if one.restart_policy == "Always"]
    found: dict[HostPort, None] = {}
    for container in (*stay, *spec.containers):
        for port in container.ports or ():
            number = port.host_port or (port.container_port if spec.host_network else None)
            if not number:
                continue
            if number not in _PORTS:
                at = f"{where}: hostPort of container {shown(container.name)}"
                raise InputError(at, found=shown(number), wanted="1..65535")
            found[HostPort(number, port.protocol or "TCP", port.host_ip or HostPort(0).ip)] = None
    return tuple(found)


def _claims(spec: obj.PodSpec, meta: obj.Metadata) -> tuple[str, ...]:
    """The claims that the Pod's volumes stand for.

    A claim of its own is named after Pod and volume; it is made when the Pod is, so a
    Pod that no API server has seen yet (without a UID) cannot be missing it.
    """
    named = (one.persistent_volume_claim for one in spec.volumes or () if one.persistent_volume_claim is not None)
    own = (f"{meta.name}-{one.name}" for one in spec.volumes or () if one.ephemeral is not None and meta.uid)
    return tuple(dict.fromkeys((*(one.claim_name for one in named), *own)))


def _toleration(one: obj.Toleration, where: str) -> Toleration:
    key, value, effect = one.key or "", one.value or "", one.effect or ""
    operator = _chosen(one.operator or "Equal", _TOLERATION_OPERATORS, f"{where} of {shown(key)}: operator")
    if effect:
        _chosen(effect, TAINT_EFFECTS, f"{where} of {shown(key)}: effect")
    if not key and operator != "Exists":
        raise InputError(f"{where}: operator", found=f"{operator} without a key", wanted="Exists where no key is named")
    if operator == "Exists" and value:
        raise InputError(f"{where} of {shown(key)}: value", found=shown(value), wanted="no value beside Exists")
    if operator in ("Lt", "Gt") and integer(value) is None:
        raise InputError(
            f"{where} of {shown(key)}: value", found=shown(value), wanted=f"a whole number beside {operator}"
        )
    return Toleration(key, operator, value, effect)

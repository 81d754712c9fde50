"""Selectors, affinities and tolerations of a Pod object into the nouns of `model.rules`.

Called by `wire.pod`; nodes and Pods are compared with the result by `decide/rules`.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from numaplace.decide.rules.expressions import integer
from numaplace.model.errors import InputError
from numaplace.model.rules import (
    TAINT_EFFECTS,
    LabelSelector,
    NodeTerm,
    Operator,
    PodAntiAffinityTerm,
    PodRules,
    PreferredTerm,
    Requirement,
    Toleration,
)
from numaplace.wire import pod_object as obj
from numaplace.wire.strict import shown

T = TypeVar("T")

_SET_OPERATORS = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_FIELD_OPERATORS = (Operator.IN, Operator.NOT_IN)
_TOLERATION_OPERATORS = ("Equal", "Exists", "Lt", "Gt")


def read_rules(spec: obj.PodSpec, labels: Mapping[str, str], namespace: str, where: str) -> PodRules:
    """What the Pod demands of its node; `amounts` is left to decide/admit."""
    affinity = spec.affinity or obj.Affinity()
    node = affinity.node_affinity or obj.NodeAffinity()
    anti = affinity.pod_anti_affinity or obj.PodAffinity()
    at = f"{where}: spec.affinity"
    return PodRules(
        labels=labels,
        node_selector=spec.node_selector or {},
        required_terms=None if node.required is None else _node_terms(node.required, f"{at}.nodeAffinity"),
        preferred_terms=tuple(_preferred(term, f"{at}.nodeAffinity") for term in node.preferred or ()),
        tolerations=tuple(_toleration(one, f"{where}: spec.tolerations") for one in spec.tolerations or ()),
        anti_affinity=tuple(
            _anti_affinity(term, labels, namespace, f"{at}.podAntiAffinity") for term in anti.required or ()
        ),
    )


def read_unjudged(spec: obj.PodSpec) -> tuple[str, ...]:
    """Hard demands that decide/rules does not judge, in words."""
    together = (spec.affinity or obj.Affinity()).pod_affinity or obj.PodAffinity()
    spread = any(one.when_unsatisfiable == "DoNotSchedule" for one in spec.topology_spread_constraints or ())
    ports = any(port.host_port for one in spec.containers for port in one.ports or ())
    demands = {
        "required Pod affinity": bool(together.required),
        "topology spread with DoNotSchedule": spread,
        "host ports": ports,
    }
    return tuple(words for words, demanded in demands.items() if demanded)


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


def _node_terms(selector: obj.NodeSelector, where: str) -> tuple[NodeTerm, ...]:
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


def _anti_affinity(
    term: obj.PodAffinityTerm, labels: Mapping[str, str], namespace: str, where: str
) -> PodAntiAffinityTerm:
    """One term; the API server's defaults (own namespace, matchLabelKeys as requirements) are applied."""
    if not term.topology_key:
        raise InputError(
            f"{where}: topologyKey", found="nothing", wanted="a label of nodes, like kubernetes.io/hostname"
        )
    selector = None if term.label_selector is None else _selector(term.label_selector, where)
    if selector is not None:
        keyed = [(key, Operator.IN) for key in term.match_label_keys or ()]
        keyed += [(key, Operator.NOT_IN) for key in term.mismatch_label_keys or ()]
        more = tuple(Requirement(key, operator, (labels[key],)) for key, operator in keyed if key in labels)
        selector = LabelSelector(selector.requirements + more)
    chosen = None if term.namespace_selector is None else _selector(term.namespace_selector, where)
    names = tuple(term.namespaces or ())
    return PodAntiAffinityTerm(
        topology_key=term.topology_key,
        selector=selector,
        namespaces=names if names or chosen is not None else (namespace,),
        namespace_selector=chosen,
    )


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

"""The rules of Kubernetes and of our own that decide whether a node may take a Pod at all.

`check` goes through them in order; the first that says no is the node's answer.
One file a rule. Rules about Pods on other nodes read an `Around`, which `Company`
keeps. What a real scheduler judges besides is in docs/reference/pod-rules.md.
"""

from collections.abc import Iterable

from numaplace.decide.rules import (
    amounts,
    cards,
    cordon,
    enabled,
    host_ports,
    node_affinity,
    node_selector,
    spread,
    taints,
    volumes,
)
from numaplace.decide.rules.alike import node_rules_key, rules_key
from numaplace.decide.rules.around import Around, hinders, minds_others, reaches_by_labels, welcomes
from numaplace.decide.rules.company import Company
from numaplace.decide.rules.enabled import is_enabled
from numaplace.decide.rules.relation import ELSEWHERE, Condition, Namespaces
from numaplace.decide.rules.volumes import looked_up
from numaplace.decide.rules.wishes import wishes_met
from numaplace.model.cluster import NodeState
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules
from numaplace.model.settings import Settings

__all__ = [
    "ELSEWHERE",
    "Around",
    "Company",
    "Condition",
    "Namespaces",
    "check",
    "check_node",
    "check_present",
    "check_promised",
    "check_volumes",
    "daemon_belongs",
    "hinders",
    "is_enabled",
    "looked_up",
    "minds_others",
    "node_rules_key",
    "reaches_by_labels",
    "rules_key",
    "welcomes",
    "wishes_met",
]


def check(
    request: PodRequest,
    node: NodeRules,
    present: Iterable[PodRequest],
    settings: Settings,
    around: Around | None = None,
) -> Refusal | None:
    """Why the node may not take the Pod; None where every rule is kept.

    NODE_NOT_ENABLED, NODE_RULE, or the code of a resource that is short in the whole node.

    `present` are the Pods that the node holds or has promised room to; the Pod
    itself among them is passed over. `around` is what the Pods of all nodes mean for it
    (`Company.around`); None: nothing. The sentence names no node, so that equal answers
    of many nodes can be counted together; `Refusal.node` does.
    """
    return (
        check_node(request, node, settings)
        or (None if around is None else around.refuse(node))
        or check_present(request, node, present, settings)
    )


def check_promised(request: PodRequest, node: NodeState, company: Company, settings: Settings) -> Refusal | None:
    """The same for a Pod that may be counted on the node already: whether its promise is still good."""
    return (
        check_node(request, node.rules, settings)
        or company.refuse(request, node)
        or check_present(request, node.rules, node.requests, settings)
    )


def check_node(request: PodRequest, node: NodeRules, settings: Settings) -> Refusal | None:
    """The rules that only look at the Pod and the node: the answer holds until one of the two changes."""
    return (
        enabled.refuse(request, node, settings)
        or cards.refuse(request, node, settings)
        or cordon.refuse(request, node)
        or node_selector.refuse(request, node)
        or node_affinity.refuse(request, node)
        or taints.refuse(request, node)
        or volumes.refuse(request, node)
    )


def check_volumes(request: PodRequest, node: NodeRules) -> Refusal | None:
    """The one rule about claims, for a Pod of which nothing else has changed."""
    return volumes.refuse(request, node)


def check_present(
    request: PodRequest, node: NodeRules, present: Iterable[PodRequest], settings: Settings
) -> Refusal | None:
    """The rules that also look at the Pods on the node."""
    others = tuple(one for one in present if one.uid != request.uid)
    return (
        host_ports.refuse(request, node, others)
        or spread.refuse_alone(request, node, others)
        or amounts.refuse(request, node, others, settings)
    )


def daemon_belongs(request: PodRequest, node: NodeRules) -> bool:
    """Whether a DaemonSet makes a Pod for this node: selector, affinity and taints, not whether there is room."""
    refusal = node_selector.refuse(request, node) or node_affinity.refuse(request, node) or taints.refuse(request, node)
    return refusal is None

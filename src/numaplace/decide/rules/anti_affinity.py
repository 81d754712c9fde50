"""Rule: Pods that must not share a node do not, whichever of the two said so.

Only terms by host name are judged; wider domains need the labels of other nodes
and are left to the scheduler (admission warns of them).
"""

from collections.abc import Iterable

from numaplace.decide.rules.expressions import selects
from numaplace.model import keys
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, PodAntiAffinityTerm

_NAMESPACE_NAME = "kubernetes.io/metadata.name"  # the label that every namespace has


def refuse(request: PodRequest, node: NodeRules, others: Iterable[PodRequest]) -> Refusal | None:
    """NODE_RULE naming the first Pod on the node that the newcomer avoids, or that avoids the newcomer."""
    for other in others:
        if _avoids(request, other):
            return Refusal(Code.NODE_RULE, f"anti-affinity: avoids Pod {other.full_name} on the node", node.name)
        if _avoids(other, request):
            return Refusal(Code.NODE_RULE, f"anti-affinity: Pod {other.full_name} on the node avoids it", node.name)
    return None


def _avoids(one: PodRequest, other: PodRequest) -> bool:
    return any(
        term.topology_key == keys.HOSTNAME
        and _reaches(term, other.namespace)
        and selects(term.selector, other.rules.labels)
        for term in one.rules.anti_affinity
    )


def _reaches(term: PodAntiAffinityTerm, namespace: str) -> bool:
    return namespace in term.namespaces or selects(term.namespace_selector, {_NAMESPACE_NAME: namespace})

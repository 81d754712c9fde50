"""How far a node meets what a Pod only wishes for: preferred node affinity and PreferNoSchedule taints.

One part of a node's score; it never rules a node out.
"""

from numaplace.decide.rules.node_affinity import matches
from numaplace.decide.rules.taints import soft_taints
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules

_TAINT_WEIGHT, _AFFINITY_WEIGHT = 3, 2  # kube-scheduler's default weights of its two plugins


def wishes_met(request: PodRequest, node: NodeRules) -> float:
    """0..1: 1 where every wish is met and no soft taint is in the way, or nothing is wished.

    The share of the preferred terms' weights that match, and 1/(1 + soft taints not
    tolerated), weighed as the stock scheduler weighs the two.
    """
    terms = [wish for wish in request.rules.preferred_terms if wish.term.labels or wish.term.fields]
    total = sum(wish.weight for wish in terms)
    met = sum(wish.weight for wish in terms if matches(wish.term, node))
    affinity = met / total if total else 1.0
    untainted = 1 / (1 + soft_taints(request, node))
    return (_TAINT_WEIGHT * untainted + _AFFINITY_WEIGHT * affinity) / (_TAINT_WEIGHT + _AFFINITY_WEIGHT)

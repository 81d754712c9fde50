"""Rule: at least one term of the Pod's required node affinity matches the node."""

from numaplace.decide.rules.expressions import holds, written
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, NodeTerm


def refuse(request: PodRequest, node: NodeRules) -> Refusal | None:
    """NODE_RULE where no term matches; for a single term the sentence names the expression that failed."""
    terms = request.rules.required_terms
    if terms is None or any(matches(term, node) for term in terms):
        return None
    if len(terms) == 1:
        return Refusal(Code.NODE_RULE, f"required node affinity: {_failed(terms[0], node)}", node.name)
    return Refusal(Code.NODE_RULE, f"required node affinity: none of its {len(terms)} terms matches", node.name)


def matches(term: NodeTerm, node: NodeRules) -> bool:
    """Whether every expression of a term holds; an empty term matches nothing."""
    return _first_failed(term, node) is None and bool(term.labels or term.fields)


def _first_failed(term: NodeTerm, node: NodeRules) -> str | None:
    fields = {"metadata.name": node.name}
    failed = [one for one in term.labels if not holds(one, node.labels)]
    failed += [one for one in term.fields if not holds(one, fields)]
    return written(failed[0]) if failed else None


def _failed(term: NodeTerm, node: NodeRules) -> str:
    failed = _first_failed(term, node)
    return "its only term is empty and matches no node" if failed is None else f"{failed} does not hold"

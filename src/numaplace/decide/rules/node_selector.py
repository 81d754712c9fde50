"""Rule: the node carries every label of the Pod's nodeSelector."""

from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules


def refuse(request: PodRequest, node: NodeRules) -> Refusal | None:
    """NODE_RULE naming the first label that differs, by key."""
    for key, value in sorted(request.rules.node_selector.items()):
        found = node.labels.get(key)
        if found != value:
            has = "does not carry it" if found is None else f"has {key[:80]}={found[:80]}"
            return Refusal(Code.NODE_RULE, f"nodeSelector needs {key[:80]}={value[:80]}; the node {has}", node.name)
    return None

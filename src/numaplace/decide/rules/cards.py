"""Rule: one resource owns a node's cards.

Nodes with the enabling label hand out our GPU resource, all others that of the
vendor's plugin. Where the node tells what it offers, `amounts` judges by that.
"""

from numaplace.decide.rules.enabled import is_enabled
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules
from numaplace.model.settings import Settings


def refuse(request: PodRequest, node: NodeRules, settings: Settings) -> Refusal | None:
    """NODE_RULE for a Pod that asks the vendor's resource on an enabled node that does not tell its amounts."""
    if node.allocatable is not None or not is_enabled(node, settings):
        return None
    for resource in settings.foreign_gpu_resources:
        if request.rules.amounts.others.get(resource):
            sentence = f"needs {resource}; the node hands out its cards as {settings.gpu_resource}"
            return Refusal(Code.NODE_RULE, sentence, node.name)
    return None

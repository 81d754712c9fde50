"""Rule: a cordoned node takes only Pods that tolerate the taint a cordon stands for."""

from numaplace.decide.rules.taints import is_tolerated
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, Taint

_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def refuse(request: PodRequest, node: NodeRules) -> Refusal | None:
    """NODE_RULE on a cordoned node."""
    if not node.cordoned or is_tolerated(_CORDON, request.rules.tolerations):
        return None
    return Refusal(Code.NODE_RULE, f"the node is cordoned; the Pod does not tolerate {_CORDON.key}", node.name)

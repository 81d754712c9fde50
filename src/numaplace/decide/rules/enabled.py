"""Rule: a placement, exclusive CPUs and our GPUs are only for nodes that carry the enabling label."""

from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import CpuMode, PodRequest, Policy
from numaplace.model.rules import NodeRules
from numaplace.model.settings import Settings


def refuse(request: PodRequest, node: NodeRules, settings: Settings) -> Refusal | None:
    """NODE_NOT_ENABLED where the label is missing, or names another mode of the node's cards."""
    if is_enabled(node, settings) or not needs_enabled(request):
        return None
    wanted = f"{settings.enable_label}={settings.enable_value}"
    mode = node.labels.get(settings.enable_label)
    found = "does not carry it" if mode is None else f"is in mode {mode} of that label"
    return Refusal(Code.NODE_NOT_ENABLED, f"needs a node with the label {wanted}; the node {found}", node.name)


def needs_enabled(request: PodRequest) -> bool:
    """Whether the Pod asks anything that only enabled nodes give."""
    return request.policy is not Policy.NONE or request.cpu_mode is CpuMode.EXCLUSIVE or request.gpus > 0


def is_enabled(node: NodeRules, settings: Settings) -> bool:
    """Whether the node carries the enabling label with the enabling value."""
    return node.labels.get(settings.enable_label) == settings.enable_value

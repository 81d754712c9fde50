"""What a node offers of our own resources, without the gaps that a restarting kubelet makes."""

from dataclasses import replace

from numaplace.model.rules import NodeRules
from numaplace.model.settings import Settings


def steadied(now: NodeRules, before: NodeRules | None, settings: Settings) -> NodeRules:
    """`now`, where our GPUs and HCAs that fell to nothing keep the amount they had.

    A kubelet that starts reads 0 of every device plugin's resource for about ten
    seconds. Which cards there are is the report's matter, not this one's.
    """
    if before is None or before.allocatable is None or now.allocatable is None:
        return now
    had, has = before.allocatable.others, now.allocatable.others
    ours = (settings.gpu_resource, settings.hca_resource)
    lost = {name: had[name] for name in ours if had.get(name) and not has.get(name)}
    if not lost:
        return now
    return replace(now, allocatable=replace(now.allocatable, others={**has, **lost}))

"""What two Pods must have in common to get the same answers: a hashable key without names.

Copies of one Deployment share it, so that a refusal is worked out once for all of them.
"""

from collections.abc import Hashable

from numaplace.decide.place.ask import ask_of
from numaplace.model.request import PodRequest


def rules_shape(request: PodRequest) -> Hashable:
    """All that the node rules without a look at other Pods read of a request."""
    rules = request.rules
    return (
        tuple(sorted(rules.node_selector.items())),
        rules.required_terms,
        rules.tolerations,
        tuple(sorted(rules.amounts.others)),
        request.policy,
        request.cpu_mode,
        request.gpus > 0,
    )


def shape_of(request: PodRequest) -> Hashable:
    """All that any answer depends on, names apart."""
    rules = request.rules
    amounts = (rules.amounts.cpu_milli, rules.amounts.memory_bytes, tuple(sorted(rules.amounts.others.items())))
    social = (request.namespace, tuple(sorted(rules.labels.items())), rules.anti_affinity)
    return (ask_of(request), rules_shape(request), amounts, rules.preferred_terms, social)

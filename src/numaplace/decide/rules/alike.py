"""Which requests the node rules judge alike: all that the rules read of one, as a hashable key.

Answers are remembered by these keys; a rule that reads something new adds it here.
"""

from collections.abc import Hashable

from numaplace.model.request import PodRequest


def node_rules_key(request: PodRequest) -> Hashable:
    """Equal only for requests that `check_node` answers alike on every node."""
    rules = request.rules
    return (
        frozenset(rules.node_selector.items()),
        rules.required_terms,
        rules.tolerations,
        frozenset(rules.amounts.others),
        request.policy,
        request.cpu_mode,
        request.gpus > 0,
    )


def rules_key(request: PodRequest, *, repelled: bool = True) -> Hashable:
    """Of requests with equal policy, CPUs and devices: equal only for those that every rule and wish judges alike.

    `repelled` False leaves out the Pod's labels: where no Pod minds others by them.
    """
    rules = request.rules
    amounts = rules.amounts
    return (
        request.namespace,
        frozenset(rules.labels.items()) if repelled else None,
        frozenset(rules.node_selector.items()),
        rules.required_terms,
        rules.preferred_terms,
        rules.tolerations,
        rules.anti_affinity,
        (amounts.cpu_milli, amounts.memory_bytes, frozenset(amounts.others.items())),
    )

"""Which requests the node rules judge alike: all that the rules read of one, as a hashable key.

Answers are remembered by these keys; a rule that reads something new adds it here.
"""

from collections.abc import Hashable

from numaplace.decide.rules.expressions import selects
from numaplace.model.request import PodRequest
from numaplace.model.rules import PodTerm, Spread


def node_rules_key(request: PodRequest) -> Hashable:
    """Equal only for requests that `check_node` answers alike on every node."""
    rules = request.rules
    return (
        frozenset(rules.node_selector.items()),
        rules.required_terms,
        rules.tolerations,
        rules.volumes,
        frozenset(rules.amounts.others),
        request.policy,
        request.cpu_mode,
        request.gpus > 0,
    )


def rules_key(request: PodRequest, *, repelled: bool = True) -> Hashable:
    """Of requests with equal policy, CPUs and devices: equal only for those that every rule and wish judges alike.

    `repelled` False leaves out the Pod's labels: where no Pod minds others by them. Which of
    the Pod's own selectors mean itself counts in any case.
    """
    rules = request.rules
    amounts = rules.amounts
    own: tuple[PodTerm | Spread, ...] = (*rules.affinity, *rules.spreads)
    return (
        request.namespace,
        frozenset(rules.labels.items()) if repelled else None,
        frozenset(rules.node_selector.items()),
        rules.required_terms,
        rules.preferred_terms,
        rules.tolerations,
        rules.affinity,
        rules.anti_affinity,
        rules.spreads,
        tuple(selects(one.selector, rules.labels) for one in own),
        rules.ports,
        rules.volumes,
        (amounts.cpu_milli, amounts.memory_bytes, frozenset(amounts.others.items())),
    )

"""Node rules for one kind of request on many nodes, judged once where nodes show the same.

Most Pods look at few labels, so thousands of nodes share a handful of verdicts.
"""

from collections.abc import Hashable

from numaplace.decide.rules import check_node, check_present
from numaplace.decide.rules.volumes import labels_read, reads_name
from numaplace.model.cluster import NodeState
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import Volumes
from numaplace.model.settings import Settings


class Verdicts:
    """The rules' answers for one kind of request."""

    def __init__(self, request: PodRequest, settings: Settings) -> None:
        self.settings = settings
        rules = request.rules
        terms, volumes = rules.required_terms or (), rules.volumes or Volumes()
        asked = {one.key for term in terms for one in term.labels}
        self._keys = sorted({settings.enable_label, *rules.node_selector, *asked, *labels_read(volumes)})
        self._by_name = any(term.fields for term in terms) or reads_name(volumes)
        self._known: dict[Hashable, Refusal | None] = {}

    def refuses(self, node: NodeState, request: PodRequest) -> Refusal | None:
        """What `decide.rules.check` says of the node, Pods on other nodes apart."""
        return self._of_node(node, request) or check_present(request, node.rules, node.requests, self.settings)

    def _of_node(self, node: NodeState, request: PodRequest) -> Refusal | None:
        rules = node.rules
        if self._by_name:
            return check_node(request, rules, self.settings)
        shown = tuple(rules.labels.get(key) for key in self._keys)
        key = (shown, rules.taints, rules.cordoned, rules.allocatable is None)
        if key not in self._known:
            self._known[key] = check_node(request, rules, self.settings)
        return self._known[key]

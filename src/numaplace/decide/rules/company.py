"""Company: who is where in a whole cluster, as far as the rules about other Pods want to know.

Told of every node that changes. A request without such rules, in a cluster where no Pod
minds others, costs nothing here.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from numaplace.decide.rules.alike import rules_key
from numaplace.decide.rules.around import Around, minds_others
from numaplace.decide.rules.relation import Namespaces
from numaplace.model.cluster import ClusterState, NodeState
from numaplace.model.ids import NodeName
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest

MAX_KINDS = 256  # of requests remembered at once
LOG_ENTRIES = 1 << 16  # changes of nodes that a kind may be behind; then it is counted anew


@dataclass(slots=True)
class _Kind:
    around: Around
    seen: int  # how much of the log it has taken in


class Company:
    """The nodes with their Pods, and what they mean for each kind of request that asked."""

    def __init__(self, state: ClusterState) -> None:
        self._nodes: dict[NodeName, NodeState] = {}
        self.namespaces: Namespaces = state.namespaces
        self._repelling: set[NodeName] = set()  # nodes with a Pod that minds others
        self._kinds: OrderedDict[Hashable, _Kind] = OrderedDict()
        self._log: list[NodeName] = []
        self.update(*state.nodes.values())

    @property
    def repels(self) -> bool:
        """Whether any Pod on a node minds others by their labels."""
        return bool(self._repelling)

    def update(self, *nodes: NodeState) -> None:
        """Take new values of nodes in; new names are added."""
        for node in nodes:
            self._nodes[node.name] = node
            if any(holder.request.rules.anti_affinity for holder in node.holders.values()):
                self._repelling.add(node.name)
            else:
                self._repelling.discard(node.name)
        self._note(node.name for node in nodes)

    def remove(self, name: NodeName) -> None:
        """Forget a node."""
        self._nodes.pop(name, None)
        self._repelling.discard(name)
        self._note((name,))

    def rename(self, namespaces: Namespaces) -> None:
        """Take the labels of all namespaces in, in place of those known before."""
        self.namespaces = namespaces
        self._kinds.clear()

    def around(self, request: PodRequest) -> Around | None:
        """What the Pods mean for this request; None where they mean nothing to it."""
        if not (self.repels or minds_others(request)):
            return None
        key = rules_key(request, repelled=self.repels)
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind(self._counted(request), len(self._log))
            if len(self._kinds) > MAX_KINDS:
                self._kinds.popitem(last=False)
        self._kinds.move_to_end(key)
        for name in set(self._log[kind.seen :]):
            node = self._nodes.get(name)
            if node is None:
                kind.around.forget(name)
            else:
                kind.around.count(node)
        kind.seen = len(self._log)
        return kind.around

    def refuse(self, request: PodRequest, node: NodeState) -> Refusal | None:
        """What the others mean for this Pod on this node, wherever it is itself counted there already."""
        around = self.around(request)
        if around is None:
            return None
        if request.uid not in node.holders:
            return around.refuse(node.rules)
        around.count(node.without(request.uid))
        refusal = around.refuse(node.rules)
        around.count(node)
        return refusal

    def _counted(self, request: PodRequest) -> Around:
        around = Around(request, self.namespaces)
        for node in self._nodes.values():
            around.count(node)
        return around

    def _note(self, names: Iterable[NodeName]) -> None:
        if not self._kinds:
            self._log.clear()
            return
        self._log.extend(names)
        if len(self._log) > LOG_ENTRIES:
            self._kinds.clear()
            self._log.clear()

"""How one Pod of a cluster stands: told from its object and from the planner's book, by its stage."""

from collections.abc import Iterable
from difflib import get_close_matches

from numaplace.decide.place import Part, Placement, ask_of, least_width, place_on
from numaplace.model import keys
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import NodeState
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.model.live_pod import LivePod, Stage, foreign_gates, unpinned
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.words import counted
from numaplace.services.planner.news import Broken
from numaplace.tools.live.reading import Reading
from numaplace.tools.report.standing import Place, Stand, Standing
from numaplace.tools.sim.explaining import explain
from numaplace.wire.live_pod import live_pod_of
from numaplace.wire.pod_object import PodObject

_NOT_OURS = "it asks no policy, no CPUs of its own and no {gpu}, so the scheduler places it and its node counts it"
_ASK_AGAIN = "once it is deleted, its controller, or you, can make another that is planned"


def standing_of(reading: Reading, namespace: str, name: str, only_node: str = "") -> Standing:
    """One Pod; a Pod that waits is held against every node, or the one named. InputError if there is no such Pod."""
    found = _found(reading.objects.pods, namespace, name)
    known = reading.keeper.pods[live_pod_of(found, reading.keeper.settings).uid]
    return _Told(reading, found, known, only_node).standing()


def _found(pods: Iterable[PodObject], namespace: str, name: str) -> PodObject:
    names = []
    for pod in pods:
        if pod.metadata.namespace == namespace:
            if pod.metadata.name == name:
                return pod
            names.append(pod.metadata.name or "")
    near = ", ".join(get_close_matches(name, names, n=3)) or "the name of one that is there"
    raise InputError(f"Pod {namespace}/{name}", found="no such Pod", wanted=near)


class _Told:
    """One Pod being told of."""

    def __init__(self, reading: Reading, found: PodObject, pod: LivePod, only_node: str) -> None:
        self.reading, self.keeper, self.settings = reading, reading.keeper, reading.keeper.settings
        self.found, self.pod, self.only_node = found, pod, only_node

    def standing(self) -> Standing:
        pod = self.pod
        if pod.stage is Stage.ENDED:
            return self._ended()
        if pod.node is not None:
            return self._on_its_node(pod.node)
        if isinstance(pod.asks, Refusal):
            return self._told(Stand.INVALID, "asks what nobody can give", code=pod.asks.code, told=pod.asks.sentence)
        if not pod.asks.is_planned:
            return self._told(Stand.PLAIN, "is not placed by numaplace", *self._why_plain())
        if pod.stage is Stage.RELEASED:
            return self._on_its_way()
        if keys.PLAN_GATE in pod.gates:
            return self._waits(pod.asks)
        return self._let_go(pod.asks)

    def _told(
        self, stand: Stand, *sentences: str, code: str = "", told: str = "", place: Place | None = None
    ) -> Standing:
        return Standing(self.pod.full_name, self.pod.uid, stand, sentences, code=code, told=told, place=place)

    # --- not bound

    def _why_plain(self) -> Iterable[str]:
        yield _NOT_OURS.format(gpu=self.settings.gpu_resource)
        if keys.PLAN_GATE in self.pod.gates:
            yield f"it has the gate {keys.PLAN_GATE}, which the planner takes away"
        if others := foreign_gates(self.pod.gates):
            yield f"it waits for gates of others: {', '.join(others)}"

    def _waits(self, asks: PodRequest) -> Standing:
        pod, others = self.pod, foreign_gates(self.pod.gates)
        promised = self.keeper.promised(pod.uid)
        if promised is not None:
            sentence = f"has been promised a place on node {promised.node}; its gate goes next"
            return self._told(Stand.ON_ITS_WAY, sentence, place=self._place(promised))
        if others:
            first = f"waits for gates of others: {', '.join(others)}"
            return self._lacks(Stand.GATED, asks, first, "numaplace plans it when its own gate is the last one")
        more = [] if pod.refused_with else ["the planner has not said anything about it yet"]
        return self._lacks(Stand.WAITS, asks, "waits for a place", *more)

    def _lacks(self, stand: Stand, asks: PodRequest, *sentences: str) -> Standing:
        """A Pod without a place, what it was told, and what every node says now."""
        pod, states = self.pod, self.keeper.state.nodes
        nodes = [node for name, node in states.items() if self.only_node in ("", name)]
        if not nodes and self.only_node:
            raise InputError("--node", found=repr(self.only_node), wanted="a node of the cluster")
        explanation = explain(nodes, asks, self.settings, self.keeper.index.company.around(asks))
        more = []
        if asks.rules.claims and asks.rules.volumes is None:
            more.append("its volumes could not be looked up, so the rules about them are left out below")
        if stand is Stand.WAITS and explanation.refusal is None and explanation.views:
            more.append("by now a node would take it: unless it is bound soon, look whether the planner runs")
        return Standing(
            pod.full_name,
            pod.uid,
            stand,
            (*sentences, *more),
            code=pod.refused_with,
            told=self._condition(keys.PLANNED) if pod.refused_with else "",
            explanation=explanation,
        )

    def _on_its_way(self) -> Standing:
        pod = self.pod
        to = pod.destination
        sentences = [f"has its place on node {to} and waits for the scheduler to bind it"]
        if pod.unschedulable:
            sentences.append(f"the scheduler does not take that node: {self._condition('PodScheduled')}")
        clash = self._clash()
        if clash:
            sentences.append(f"and it cannot have it: {clash}")
        return self._told(Stand.ON_ITS_WAY, *sentences, place=self._place(pod.allocation))

    def _let_go(self, asks: PodRequest) -> Standing:
        """Without a gate and a plan: placed by us only where the scheduler asks us before it binds."""
        first = "asks a placement, but has no gate and no plan"
        if self.pod.refused_with:
            why = "it waited at the gate and was let go, by hand or because it waited too long (--ungate-after)"
            asked = "it is placed when there is room, if the scheduler asks numaplace before it binds (extender)"
            return self._lacks(Stand.LET_GO, asks, first, why, asked)
        unless = "unless the scheduler asks numaplace before it binds (extender): "
        lost = (f"{unless}{sentence}" for sentence in self._cost(asks, "wherever it is bound"))
        return self._told(Stand.LET_GO, first, *self._why_let_go(), *lost)

    def _why_let_go(self) -> Iterable[str]:
        annotations = self.found.metadata.annotations or {}
        scheduler = self.found.spec.scheduler_name or "default-scheduler"
        if annotations.get(keys.GATE) == "off":
            yield f"it opted out: annotation {keys.GATE} is off"
        elif scheduler != "default-scheduler":
            yield f"its scheduler is {scheduler}; only Pods of schedulers that the gate is set up for get one"
        else:
            yield (
                f"it has no gate {keys.PLAN_GATE}: it was made before the gate was set up, brought its node along, or "
                "somebody took the gate away"
            )

    # --- bound

    def _on_its_node(self, name: NodeName) -> Standing:
        pod, asks = self.pod, self.pod.asks
        allocation = pod.allocation
        if allocation is not None and allocation.node != name:
            sentence = f"is on node {name}, but was planned for node {allocation.node}"
            lost = self._cost(asks, f"on node {name}") if isinstance(asks, PodRequest) else ()
            return self._told(Stand.ASTRAY, sentence, *lost, _ASK_AGAIN, place=Place(allocation))
        if allocation is not None and (clash := self._clash()):
            sentence = f"is on node {name}, but what it was given there is taken"
            return self._told(Stand.CLASHES, sentence, clash, place=Place(allocation))
        if allocation is not None:
            return self._told(Stand.PLACED, f"is on node {name}", place=self._place(allocation))
        if isinstance(asks, PodRequest) and not asks.is_planned:
            first = f"is on node {name}, not placed by numaplace"
            return self._told(Stand.PLAIN, first, *self._why_plain())
        sentences = [f"is on node {name}, and nobody chose its CPUs and cards", *self._why_let_go()]
        if isinstance(asks, PodRequest):
            sentences += self._cost(asks, f"on node {name}")
        return self._told(Stand.UNCHOSEN, *sentences, _ASK_AGAIN)

    def _ended(self) -> Standing:
        holder = self.keeper.holder(self.pod.uid)
        if holder is None or holder.allocation is None:
            return self._told(Stand.ENDED, "has ended and holds nothing")
        node = holder.allocation.node
        sentence = f"has ended; node {node} has not said yet that its CPUs and cards are free"
        return self._told(Stand.ENDED, sentence, place=Place(holder.allocation))

    # --- what it is worth

    def _cost(self, asks: PodRequest, where: str) -> Iterable[str]:
        cards = f", and {counted(asks.gpus, 'GPU')} count as taken without a name" if asks.gpus else ""
        yield f"{where} its CPUs float over the whole node{cards}"

    def _place(self, allocation: Allocation | None) -> Place | None:
        """The place with what makes it good: the node is judged as if the Pod were not there."""
        pod = self.pod
        if allocation is None or isinstance(pod.asks, Refusal):
            return None
        node = self.keeper.node(allocation.node)
        if node is None or node.layout is None:
            return Place(allocation)
        asks = unpinned(pod.asks, node.name)
        return Place(allocation, least_width(node.layout, ask_of(asks)), self._parts(node, asks))

    def _parts(self, node: NodeState, asks: PodRequest) -> tuple[Part, ...]:
        answer = place_on(node.without(asks.uid), asks, self.settings)
        return answer.parts if isinstance(answer, Placement) else ()

    def _clash(self) -> str:
        """Why its book does not have what its allocation says, if that is so."""
        for one in self.reading.news:
            if isinstance(one, Broken) and one.pod.uid == self.pod.uid:
                return one.why.sentence
        return ""

    def _condition(self, kind: str) -> str:
        status = self.found.status
        found = [one for one in (status.conditions or () if status else ()) if one.type == kind]
        return (found[0].message or "") if found else ""

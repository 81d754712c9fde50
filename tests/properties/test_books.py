"""The book under random events: nothing is owned twice (1) and nothing is lost or made (2)."""

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from numaplace.decide.place import place_on
from numaplace.decide.track import (
    Event,
    NodeSeen,
    PodBound,
    PodEnded,
    PodGranted,
    PodHeld,
    PodReleased,
    ReportArrived,
    TimePassed,
    reduce,
    violations,
)
from numaplace.model.allocation import Allocation
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import PodUid
from numaplace.model.refusal import Refusal
from numaplace.model.request import PodRequest
from numaplace.model.topology import Topology
from tests.oracle.described import Shape, topology_of
from tests.oracle.pods import NODE, floating, node_of
from tests.oracle.world import world_of
from tests.properties.effort import examples
from tests.properties.machines import shapes
from tests.properties.pods import pod_requests, renamed

GRACE_S = 60.0


class Book(RuleBasedStateMachine):
    """One node lives through holds, grants, ends, reports and lost devices; `phases` is what should be so."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState()
        self.phases: dict[PodUid, Phase] = {}
        self.ended_s: dict[PodUid, float] = {}
        self.places: dict[PodUid, tuple[PodRequest, Allocation]] = {}
        self.clock_s, self.names = 0.0, 0
        self.in_use: frozenset[PodUid] | None = None
        self.named: set[PodUid] = set()

    @initialize(shape=shapes())
    def a_node_appears(self, shape: Shape) -> None:
        self.whole = topology_of(shape)
        self.apply(NodeSeen(NODE, node_of(shape).rules))
        self.apply(ReportArrived(NODE, self.whole))

    @property
    def node(self) -> NodeState:
        return self.state.nodes[NODE]

    def apply(self, event: Event) -> None:
        after = reduce(self.state, event)
        assert isinstance(after, ClusterState), after
        self.state = after

    @rule(requests=st.lists(pod_requests(most_gpus=2, most_hcas=2), min_size=1, max_size=4))
    def pods_are_promised_places(self, requests: list[PodRequest]) -> None:
        for wishes in requests:
            self.names += 1
            request = renamed(wishes, f"pod-{self.names}")
            answer = place_on(self.node, request)
            if not isinstance(answer, Refusal):
                self.apply(PodHeld(request, answer.allocation, self.clock_s))
                self.phases[request.uid] = Phase.HELD
                self.places[request.uid] = request, answer.allocation

    @rule(milli=st.integers(0, 2000), gpus=st.integers(0, 1))
    def a_pod_runs_without_a_place(self, milli: int, gpus: int) -> None:
        self.names += 1
        request = floating(f"float-{self.names}", milli=milli, gpus=gpus).request
        self.apply(PodBound(request, NODE, self.clock_s))
        self.phases[request.uid] = Phase.GRANTED

    @precondition(lambda self: Phase.HELD in self.phases.values())
    @rule(data=st.data())
    def a_pod_is_bound(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from([uid for uid, phase in self.phases.items() if phase is Phase.HELD]))
        self.apply(PodGranted(*self.places[uid], self.clock_s))
        self.phases[uid] = Phase.GRANTED

    @precondition(lambda self: self.phases)
    @rule(data=st.data())
    def a_pod_ends(self, data: st.DataObject) -> None:
        uid = self.any_pod(data)
        self.apply(PodEnded(uid, NODE, self.clock_s))
        if self.phases[uid] is not Phase.RELEASING and self.said_goodbye_to(uid):
            del self.phases[uid]
        elif self.phases[uid] is not Phase.RELEASING:
            self.phases[uid], self.ended_s[uid] = Phase.RELEASING, self.clock_s

    @precondition(lambda self: self.phases)
    @rule(data=st.data())
    def a_hold_is_taken_back(self, data: st.DataObject) -> None:
        uid = self.any_pod(data)
        self.apply(PodReleased(uid, NODE))
        del self.phases[uid]

    @rule(data=st.data())
    def the_agent_reports(self, data: st.DataObject) -> None:
        """Some devices fail and CPUs go offline for a while; what ended and is not in use any more is free."""
        in_use = data.draw(st.none() | st.frozensets(st.sampled_from(sorted(self.phases) or [PodUid("-")])))
        self.apply(ReportArrived(NODE, data.draw(damaged(self.whole)), in_use=in_use))
        self.in_use = in_use
        self.named |= (in_use or frozenset()) & self.phases.keys()
        if in_use is not None:
            self.forget(uid for uid in self.ended() if uid not in in_use)

    @rule(seconds=st.sampled_from([1.0, 30.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock_s += seconds
        self.apply(TimePassed(self.clock_s, GRACE_S))
        listed = self.in_use or frozenset()
        self.forget(uid for uid in self.ended() if self.clock_s - self.ended_s[uid] >= GRACE_S and uid not in listed)

    @rule()
    def a_place_that_is_taken_is_refused(self) -> None:
        for request, allocation in self.places.values():
            rival = renamed(request, "rival")
            taken = any(overlap(rival, allocation, holder) for holder in self.node.holders.values())
            assert isinstance(reduce(self.state, PodHeld(rival, allocation)), Refusal) is taken

    def said_goodbye_to(self, uid: PodUid) -> bool:
        """Whether the agent has named the Pod, and its last word is that it is not there."""
        return uid in self.named and self.in_use is not None and uid not in self.in_use

    def any_pod(self, data: st.DataObject) -> PodUid:
        return data.draw(st.sampled_from(sorted(self.phases)))

    def ended(self) -> list[PodUid]:
        return [uid for uid, phase in self.phases.items() if phase is Phase.RELEASING]

    def forget(self, uids: Iterable[PodUid]) -> None:
        for uid in list(uids):
            del self.phases[uid]

    @invariant()
    def the_book_says_what_happened(self) -> None:
        if NODE in self.state.nodes:
            assert {uid: holder.phase for uid, holder in self.node.holders.items()} == self.phases

    @invariant()
    def free_and_owned_are_usable_and_lost(self) -> None:
        if NODE in self.state.nodes:
            for kind, (usable, free, owned) in counted(self.node).items():
                lost = {thing for things in owned.values() for thing in things} - usable
                parts = len(free) + sum(len(things) for things in owned.values())
                assert parts == len(usable) + len(lost), f"{kind}: free {free}, owned {owned}, lost {lost}"

    @invariant()
    def only_what_is_lost_is_wrong(self) -> None:
        if NODE in self.state.nodes and self.node.topology == self.whole:
            assert violations(self.node) == []


@st.composite
def damaged(draw: st.DrawFn, whole: Topology) -> Topology:
    """The machine with some GPUs and HCAs broken and some CPUs offline, mostly none."""
    gpus = draw(st.sets(st.sampled_from([str(gpu.pci) for gpu in whole.gpus] or ["-"]), max_size=2))
    hcas = draw(st.sets(st.sampled_from([str(hca.name) for hca in whole.hcas] or ["-"]), max_size=2))
    offline = CpuSet.of(draw(st.sets(st.sampled_from(sorted(whole.online)), max_size=2))) - CpuSet.of([0])
    return replace(
        whole,
        online=whole.online - offline,
        numas=tuple(replace(numa, cpus=numa.cpus - offline) for numa in whole.numas),
        cores=tuple(core - offline for core in whole.cores if core - offline),
        gpus=tuple(replace(gpu, fault="broke" if gpu.pci in gpus else gpu.fault) for gpu in whole.gpus),
        hcas=tuple(replace(hca, fault="broke" if hca.name in hcas else hca.fault) for hca in whole.hcas),
    )


def overlap(request: PodRequest, allocation: Allocation, holder: Holder) -> bool:
    other = holder.allocation
    if other is None:
        return False
    hcas = set(allocation.hcas) & set(other.hcas) if request.hcas_exclusive and holder.request.hcas_exclusive else ()
    return bool(allocation.cpus & other.cpus or set(allocation.gpus) & set(other.gpus) or hcas)


Things = set[object]


def counted(node: NodeState) -> dict[str, tuple[Things, Things, dict[PodUid, Things]]]:
    """Of CPUs, GPUs and HCAs: what is usable, what is free, and what each Pod owns (by name: unnamed cards apart)."""
    assert node.topology is not None
    world = world_of(replace(node, holders={uid: h for uid, h in node.holders.items() if h.allocation}))
    owned = {uid: holder.allocation for uid, holder in node.holders.items() if holder.allocation}
    alone = {uid: a for uid, a in owned.items() if node.holders[uid].request.hcas_exclusive}
    return {
        "CPUs": (
            {cpu for cpus in world.usable.values() for cpu in cpus},
            {cpu for numa in world.numas for cpu in world.free_cpus(numa)},
            {uid: set(allocation.cpus) for uid, allocation in owned.items()},
        ),
        "GPUs": (
            {gpu.pci for gpu in node.topology.gpus if not gpu.mig and not gpu.fault},
            {gpu.pci for gpu in world.gpus},
            {uid: {gpu.pci for gpu in allocation.gpus} for uid, allocation in owned.items()},
        ),
        "HCAs": (
            {hca.name for hca in node.topology.hcas if not hca.fault},
            {hca.name for hca in world.hcas},
            {uid: {hca.name for hca in allocation.hcas} for uid, allocation in alone.items()},
        ),
    }


TestBook = Book.TestCase
TestBook.settings = settings(max_examples=examples(40), stateful_step_count=25)

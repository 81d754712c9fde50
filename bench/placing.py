"""How long a decision takes: one busy machine, and one Pod on ten and a hundred thousand nodes."""

from random import Random
from time import process_time

from bench.machine import figures
from bench.workload import mixed, pod
from numaplace.decide.place import NodeIndex, Placement, place_on
from numaplace.model.cluster import ClusterState, Holder, NodeState, Phase, node_state
from numaplace.model.ids import NodeName
from numaplace.model.request import Policy
from numaplace.model.rules import NodeRules
from numaplace.wire.machine import machine

LABELS = {"ack.node.gpu.schedule": "topology"}


def one_machine(spec: str, *, rounds: int = 25, seed: int = 1) -> None:
    """Fill a machine at random, again and again, with some Pods leaving; time every decision."""
    topology = machine(spec)
    for policy in Policy:
        for exclusive in (False, True):
            random = Random(seed)
            placed: list[float] = []
            refused: list[float] = []
            for _ in range(rounds):
                node = node_state(NodeName("node"), topology=topology)
                for number in range(40):
                    gpus = random.choice((1, 2, 3, 4, 5, 6, 8))
                    cpus = random.choice((2, 4, 7, 8, 16))
                    request = pod(number, gpus, cpus, policy, hcas=gpus, hcas_exclusive=exclusive)
                    start = process_time()
                    answer = place_on(node, request)
                    (placed if isinstance(answer, Placement) else refused).append(process_time() - start)
                    if isinstance(answer, Placement):
                        node = node.holding(Holder(request, answer.allocation))
                    if node.holders and random.random() < 0.25:
                        node = node.without(random.choice(sorted(node.holders)))
            mode = "exclusive HCAs" if exclusive else "shared HCAs"
            print(f"  {policy:15} {mode:15} placed   {figures(placed)}")
            if refused:
                print(f"  {'':15} {'':15} refused  {figures(refused)}")


def many_nodes(nodes: int, pods: int, *, fill: float, seed: int = 5) -> None:
    """Pods arrive and leave on `nodes` servers of 8 GPUs; `fill` of the GPUs are taken before timing starts."""
    random = Random(seed)
    start = process_time()
    index = NodeIndex(_cluster(nodes))
    built = process_time() - start
    there: list[tuple[NodeName, Holder]] = []
    _fill(index, random, there, int(8 * nodes * fill))
    chosen, reasons = [], []
    for number in range(10_000_000, 10_000_000 + pods):
        request = mixed(number, random)
        start = process_time()
        placement = index.best(request)
        if placement is not None:
            node = index.node(placement.allocation.node)
            index.update(node.holding(Holder(request, placement.allocation, Phase.HELD)))
        chosen.append(process_time() - start)
        if placement is not None:
            there.append((placement.allocation.node, Holder(request, placement.allocation)))
            _leave(index, random, there)
        else:
            start = process_time()
            index.why_not(request)
            reasons.append(process_time() - start)
    print(f"  {nodes:,} nodes (index built in {built:.1f} s), {fill:.0%} of GPUs taken")
    print(f"    choose and hold  {figures(chosen)}")
    if reasons:
        print(f"    say why not      {figures(reasons)}")


def _cluster(count: int) -> ClusterState:
    topology = machine("lingjun")
    names = [NodeName(f"node-{i:06d}") for i in range(count)]
    nodes = (node_state(name, NodeRules(name=name, labels=LABELS), topology) for name in names)
    return ClusterState({node.name: node for node in nodes})


def _fill(index: NodeIndex, random: Random, there: list[tuple[NodeName, Holder]], gpus: int) -> None:
    """Take `gpus` GPUs, node after node, without the index's search: it is not what is measured."""
    number = 0
    for node in list(index.nodes.values()):
        for _ in range(random.randrange(2, 6)):
            request = mixed(number, random)
            number += 1
            answer = place_on(node, request)
            if isinstance(answer, Placement):
                node = node.holding(Holder(request, answer.allocation))
                there.append((node.name, node.holders[request.uid]))
                gpus -= request.gpus
        index.update(node)
        if gpus <= 0:
            return


def _leave(index: NodeIndex, random: Random, there: list[tuple[NodeName, Holder]]) -> None:
    """As many Pods leave as arrive."""
    position = random.randrange(len(there))
    there[position], there[-1] = there[-1], there[position]
    name, holder = there.pop()
    node: NodeState = index.node(name)
    index.update(node.without(holder.request.uid))

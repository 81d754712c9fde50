"""Nodes on paper: from groups of described machines to the NodeStates that the verbs know.

What a kubelet would tell of such a machine (allocatable amounts) is worked out here,
so that the node rules judge paper and cluster alike.
"""

from collections.abc import Iterable, Mapping

from numaplace.model.catalog import Namespace
from numaplace.model.cluster import ClusterState, NodeState, node_state
from numaplace.model.cpuset import CpuSet
from numaplace.model.ids import NodeName
from numaplace.model.keys import ALIGN_LEVEL, HOSTNAME
from numaplace.model.rules import CPU, HUGEPAGES, MEMORY, PODS, Amounts, NodeRules
from numaplace.model.settings import Settings
from numaplace.model.topology import Topology
from numaplace.wire.node_groups import NodeGroup
from numaplace.wire.quantity import binary_text

SHARED_HCA_UNITS = 1000  # what the RDMA plugin offers a node in shared mode (its default, `1k`)
MAX_PODS = 110  # the kubelet's default


def nodes_of(group: NodeGroup, settings: Settings) -> Iterable[NodeState]:
    """The nodes of a group, empty."""
    labels = dict(group.labels)
    if group.align is not None:
        labels[ALIGN_LEVEL] = group.align
    topology = group.machine.topology
    amounts = allocatable(topology, group.reserved, labels, group.allocatable_milli, settings)
    for name in group.names:
        rules = NodeRules(
            name=name,
            labels={HOSTNAME: name, **labels},
            taints=group.taints,
            cordoned=group.cordoned,
            allocatable=amounts,
            max_pods=MAX_PODS if group.max_pods is None else group.max_pods,
        )
        yield node_state(name, rules, topology, group.reserved)


def captured_node(name: NodeName, topology: Topology, settings: Settings) -> NodeState:
    """A captured machine as a node that is enabled for placement."""
    labels = {HOSTNAME: name, settings.enable_label: settings.enable_value}
    amounts = allocatable(topology, CpuSet(), labels, {}, settings)
    return node_state(name, NodeRules(name=name, labels=labels, allocatable=amounts, max_pods=MAX_PODS), topology)


def allocatable(
    topology: Topology,
    reserved: CpuSet,
    labels: Mapping[str, str],
    said_milli: Mapping[str, int],
    settings: Settings,
) -> Amounts:
    """What the kubelet of such a node offers: unreserved CPUs, all memory, cards under the name of their owner.

    A node with the enabling label hands out its whole, healthy GPUs as our resource,
    any other as the first of the vendors', where there is one. Hugepages leave the memory. What is said
    in `said_milli` replaces what the machine tells.
    """
    cards = sum(1 for gpu in topology.gpus if not gpu.mig and not gpu.fault)
    ours = labels.get(settings.enable_label) == settings.enable_value or not settings.foreign_gpu_resources
    hcas = sum(1 for hca in topology.hcas if not hca.fault)
    pages: dict[str, int] = {}
    for pool in (pool for numa in topology.numas for pool in numa.hugepages):
        name = f"{HUGEPAGES}{binary_text(pool.page_bytes)}"
        pages[name] = pages.get(name, 0) + pool.page_bytes * pool.total
    memory = sum(numa.memory_bytes or 0 for numa in topology.numas if numa.cpus) - sum(pages.values())
    told = {
        CPU: 1000 * len(topology.online - reserved),
        MEMORY: 1000 * max(0, memory),
        settings.gpu_resource if ours else settings.foreign_gpu_resources[0]: 1000 * cards,
        settings.hca_resource: 1000 * (hcas if settings.hcas_exclusive else SHARED_HCA_UNITS if hcas else 0),
        **{name: 1000 * amount for name, amount in pages.items()},
        **said_milli,
    }
    others = {name: milli // 1000 for name, milli in told.items() if milli >= 1000 and name not in (CPU, MEMORY, PODS)}
    return Amounts(told[CPU], told[MEMORY] // 1000, others)


def cluster_of(nodes: Iterable[NodeState], namespaces: Iterable[Namespace] = ()) -> ClusterState:
    """The cluster of these nodes, in their order."""
    return ClusterState({node.name: node for node in nodes}, {one.name: one.labels for one in namespaces})

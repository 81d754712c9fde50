"""The node rules a Pod carries, and what a node shows to them.

Taken over from the Pod and Node objects as far as `decide/rules` judges them; each
rule there reads a few of these fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from numaplace.model.ids import NodeName

CPU, MEMORY, PODS = "cpu", "memory", "pods"  # resources of a node by their Kubernetes names
HUGEPAGES = "hugepages-"  # before a page size, as in hugepages-2Mi
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_NOTHING: Mapping[str, str] = MappingProxyType({})
_NO_AMOUNT: Mapping[str, int] = MappingProxyType({})


class Operator(StrEnum):
    """Operators of node selector and label selector terms."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression: `key` `operator` `values`."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Expressions on labels and on fields (metadata.name) that must all hold; an empty term matches nothing."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A wish: nodes that match gain `weight` (1..100)."""

    weight: int
    term: NodeTerm


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Which Pods are meant; no requirement matches every Pod, None in place of a selector none."""

    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Pods matched by `selector` in `namespaces`, on all nodes that have the same value of `topology_key`."""

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...]  # the Pod's own where the manifest names none
    namespace_selector: LabelSelector | None = None  # more namespaces, by their labels


@dataclass(frozen=True, slots=True)
class Spread:
    """No value of `topology_key` may have more than `max_skew` matching Pods beyond the value with the fewest."""

    topology_key: str
    max_skew: int
    selector: LabelSelector | None  # Pods of the Pod's own namespace
    min_domains: int = 1  # with fewer values than this the fewest counts as 0
    honors_affinity: bool = True  # whether only nodes that nodeSelector and node affinity allow are counted
    honors_taints: bool = False  # whether only nodes whose taints are tolerated are counted


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a container takes."""

    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"  # all of the node's addresses


@dataclass(frozen=True, slots=True)
class VolumePlace:
    """A volume that is on some nodes only, and the claim that the Pod reaches it by."""

    claim: str
    volume: str
    terms: tuple[NodeTerm, ...] | None = None  # one must match; None: the volume is on every node
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()  # label of zone or region, and the values that will do


@dataclass(frozen=True, slots=True)
class Volumes:
    """What a Pod's claims came to when they were looked up."""

    problem: str = ""  # why no node can take the Pod; empty where nothing is in the way
    places: tuple[VolumePlace, ...] = ()
    alone: frozenset[str] = frozenset()  # claims that only one Pod at a time may use


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A Pod's toleration; empty key with EXISTS tolerates all, empty effect every effect."""

    key: str = ""
    operator: str = "Equal"  # Equal, Exists, Lt, Gt
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Node-level amounts: CPU in milli-CPUs, memory in bytes, the rest in units, by resource name."""

    cpu_milli: int = 0
    memory_bytes: int = 0
    others: Mapping[str, int] = field(default_factory=lambda: _NO_AMOUNT)


@dataclass(frozen=True, slots=True)
class PodRules:
    """What a Pod demands of its node, and what other Pods' rules see of it."""

    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    node_selector: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    required_terms: tuple[NodeTerm, ...] | None = None  # None: no required node affinity; else one must match
    preferred_terms: tuple[PreferredTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[PodTerm, ...] = ()  # such Pods must be near
    anti_affinity: tuple[PodTerm, ...] = ()  # such Pods must not be near
    spreads: tuple[Spread, ...] = ()
    ports: tuple[HostPort, ...] = ()
    claims: tuple[str, ...] = ()  # PersistentVolumeClaims of its namespace, by name
    volumes: Volumes | None = None  # what they came to; None: not looked up, so not judged
    amounts: Amounts = Amounts()  # the scheduler's view: effective requests of the whole Pod
    leaving: bool = False  # being deleted


@dataclass(frozen=True, slots=True)
class NodeRules:
    """What a node shows to the rules: labels, taints, cordon and what the kubelet offers."""

    name: NodeName = NodeName("")  # what matchFields metadata.name is compared with
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False
    allocatable: Amounts | None = None  # None: not told, so not judged
    max_pods: int | None = None

"""The parts of a Kubernetes Pod object that numaplace reads, as msgspec structs.

`wire.pod` turns them into the nouns of `model`; fields that are not listed here are
ignored, since the API server is the judge of them. Every optional field may be null.
"""

from typing import Any

import msgspec

ENDED_PHASES = ("Succeeded", "Failed")

Quantities = dict[str, Any]  # judged by wire.quantity, which words its own complaints


class Part(msgspec.Struct, rename="camel"):
    """A part of a Kubernetes object: camelCase names, unknown fields ignored."""


class OwnerReference(Part):
    """The object a Pod belongs to."""

    kind: str = ""
    name: str = ""
    controller: bool | None = None


class Metadata(Part):
    """Name, labels, annotations and age."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    resource_version: str | None = None
    owner_references: list[OwnerReference] | None = None


class Resources(Part):
    """Requests and limits by resource name."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class ResizePolicy(Part):
    """What may be resized in place."""

    resource_name: str = ""


class Port(Part):
    """A port of a container."""

    container_port: int | None = None
    host_port: int | None = None
    host_ip: str | None = msgspec.field(name="hostIP", default=None)
    protocol: str | None = None


class Container(Part):
    """One container, init or app."""

    name: str
    resources: Resources | None = None
    restart_policy: str | None = None
    resize_policy: list[ResizePolicy] | None = None
    ports: list[Port] | None = None


class Expression(Part):
    """One expression of a node or label selector."""

    key: str
    operator: str
    values: list[str] | None = None


class NodeSelectorTerm(Part):
    """Expressions that must all hold."""

    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Part):
    """Terms of which one must hold."""

    node_selector_terms: list[NodeSelectorTerm]


class PreferredNodeTerm(Part):
    """A wish for nodes."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Part):
    """What a Pod demands of and wishes for its node."""

    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[PreferredNodeTerm] | None = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=None
    )


class LabelSelector(Part):
    """Which objects are meant, by label."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


class PodAffinityTerm(Part):
    """Pods that must be, or must not be, in the same domain."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PodAffinity(Part):
    """Pod affinity or anti-affinity; only the required terms are read."""

    required: list[PodAffinityTerm] | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(Part):
    """The affinities that are judged here."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Part):
    """A taint the Pod may live with."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class SpreadConstraint(Part):
    """How evenly Pods are to be spread."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ClaimReference(Part):
    """A claim that a volume stands for."""

    claim_name: str = ""


class VolumeSource(Part):
    """A volume of a Pod; others than claims are there on every node."""

    name: str = ""
    persistent_volume_claim: ClaimReference | None = None
    ephemeral: dict[str, Any] | None = None  # a claim of the Pod's own, made with it


class SchedulingGate(Part):
    """What keeps a Pod from the scheduler."""

    name: str


class PodSpec(Part):
    """What is read of a Pod's spec."""

    containers: list[Container]
    init_containers: list[Container] | None = None
    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[SpreadConstraint] | None = None
    volumes: list[VolumeSource] | None = None
    resource_claims: list[dict[str, Any]] | None = None
    overhead: Quantities | None = None
    resources: Resources | None = None
    host_network: bool | None = None
    scheduler_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    scheduling_gates: list[SchedulingGate] | None = None


class Condition(Part):
    """One condition of a Pod."""

    type: str
    status: str
    reason: str | None = None
    message: str | None = None


class PodStatus(Part):
    """What is read of a Pod's status."""

    phase: str | None = None
    nominated_node_name: str | None = None
    conditions: list[Condition] | None = None


class PodObject(Part):
    """A Pod."""

    spec: PodSpec
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: PodStatus | None = None

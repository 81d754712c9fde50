"""Pod: a Pod object as far as numaplace reads it, decoded but not yet judged.

`wire.pod` makes it from a manifest or an API object; `decide/admit` turns it into
a `PodRequest` or refuses it. Amounts are exact integers in thousandths of a unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from numaplace.model.ids import ContainerName, NodeName, PodUid
from numaplace.model.request import ContainerKind
from numaplace.model.rules import PodRules

_NO_AMOUNT: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Container:
    """One container's name, kind and resources by resource name, in thousandths of the unit."""

    name: ContainerName
    kind: ContainerKind
    requests_milli: Mapping[str, int] = field(default_factory=lambda: _NO_AMOUNT)  # as written
    limits_milli: Mapping[str, int] = field(default_factory=lambda: _NO_AMOUNT)

    def request_milli(self, resource: str) -> int:
        """What it asks; the limit stands in for a request that is not written (API default)."""
        return self.requests_milli.get(resource, self.limits_milli.get(resource, 0))


@dataclass(frozen=True, slots=True)
class JsonField:
    """One member of a JSON object in an annotation."""

    key: str
    value: str  # a string's text; any other value as compact JSON
    is_text: bool = True  # whether the value is a JSON string


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """An annotation's JSON object, read but not judged; `fault` says why the text is none."""

    fields: tuple[JsonField, ...] = ()  # as written, double keys kept
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Pod:
    """A decoded Pod."""

    uid: PodUid
    namespace: str
    name: str
    containers: tuple[Container, ...]  # init containers (plain and sidecar) in order, then app containers
    annotations: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    documents: Mapping[str, JsonDocument] = field(default_factory=lambda: MappingProxyType({}))  # of keys.JSON_KEYS
    rules: PodRules = PodRules()  # labels, selectors, tolerations ...; `amounts` is filled by decide/admit
    overhead_milli: Mapping[str, int] = field(default_factory=lambda: _NO_AMOUNT)
    pod_level_milli: Mapping[str, int] = field(default_factory=lambda: _NO_AMOUNT)  # requests of spec.resources
    resizable_cpu: tuple[ContainerName, ...] = ()  # containers with a resizePolicy for CPU
    host_network: bool = False
    unjudged: tuple[str, ...] = ()  # demands on its node that decide/rules leaves to the scheduler, in words
    scheduler: str = "default-scheduler"
    priority: int = 0
    priority_class: str = ""  # by name, where `priority` itself is not written
    created_s: float = 0.0
    gates: tuple[str, ...] = ()  # of spec.schedulingGates
    hint: NodeName | None = None  # status.nominatedNodeName
    node_name: NodeName | None = None
    ended: bool = False  # Succeeded, Failed or deleted before it was bound: it holds nothing any more
    owner: str = ""  # Kind/name of the controller, or the manifest's object that it was expanded from

    @property
    def full_name(self) -> str:
        """namespace/name, as kubectl prints it."""
        return f"{self.namespace}/{self.name}"

"""What a Pod's annotations ask, from all families of keys, agreed into one set of wishes.

ACK's keys, Koordinator's and our own say the same things; whoever uses two of
them must mean one thing. Faults are sentences, collected so that a person sees all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from numaplace.model import keys
from numaplace.model.pod import JsonDocument, JsonField, Pod
from numaplace.model.proximity import Level
from numaplace.model.request import CpuRule, Exclusivity, MemoryMode, Policy

T = TypeVar("T")
Source = tuple[str, str]  # where a wish is written, and its text

_POLICIES = {str(one): one for one in Policy if one is not Policy.NONE}
_EXCLUSIVE = {str(one): one for one in Exclusivity}
_LEVELS = {one.name: one for one in (Level.PIX, Level.PXB, Level.PHB, Level.NODE)}
_SPEC_FIELDS = ("numaTopologyPolicy", "singleNUMANodeExclusive")


@dataclass(frozen=True, slots=True)
class Wishes:
    """The annotations of a Pod, agreed; what is not written has its default."""

    policy: Policy = Policy.NONE
    exclusivity: Exclusivity = Exclusivity.PREFERRED
    exclusive_cpus: bool = False
    cpu_rule: CpuRule | None = None
    memory: MemoryMode = MemoryMode.PREFER
    gpu_hca: Level | None = None

    @property
    def names_placement(self) -> bool:
        """Whether a policy or exclusive CPUs are asked by name."""
        return self.policy is not Policy.NONE or self.exclusive_cpus


def read_wishes(pod: Pod) -> tuple[Wishes, tuple[str, ...]]:
    """The Pod's wishes and what is wrong with how they are written (docs/reference/annotations.md)."""
    reader = _Reader(pod)
    for key in (keys.ACK_NUMA_SPEC, keys.KOORDINATOR_NUMA_SPEC):
        reader.check_spec(key)
    reader.check_memory_locality()
    policy = reader.choose(reader.placement_sources("numaTopologyPolicy", keys.POLICY), _POLICIES)
    exclusivity = reader.choose(reader.placement_sources("singleNUMANodeExclusive", keys.EXCLUSIVE), _EXCLUSIVE)
    if policy is None and keys.EXCLUSIVE in pod.annotations:
        reader.faults.append(
            f"annotation {keys.EXCLUSIVE}: found no policy beside it; expected {keys.POLICY}: {_words(_POLICIES)}"
        )
    required = reader.choose(reader.annotations(keys.CPUSET_SCHEDULER), {"required": True})
    exclusive = reader.choose(reader.annotations(keys.CPUS), {"exclusive": True, "shared": False})
    if required and exclusive is False:
        reader.disagree((keys.CPUSET_SCHEDULER, "required"), (keys.CPUS, "shared"))
    default = Exclusivity.PREFERRED if policy is None else Exclusivity.REQUIRED
    wishes = Wishes(
        policy=policy or Policy.NONE,
        exclusivity=default if exclusivity is None or policy is None else exclusivity,
        exclusive_cpus=bool(required or exclusive),
        cpu_rule=reader.choose(reader.annotations(keys.CPU_RULE), {str(one): one for one in CpuRule}),
        memory=reader.choose(reader.annotations(keys.MEMORY), {str(one): one for one in MemoryMode})
        or MemoryMode.PREFER,
        gpu_hca=reader.choose(reader.annotations(keys.GPU_HCA), _LEVELS),
    )
    return wishes, tuple(reader.faults)


@dataclass(slots=True)
class _Reader:
    """One reading of a Pod's annotations; faults are noted as they are met."""

    pod: Pod
    faults: list[str] = field(default_factory=list)

    def annotations(self, key: str) -> list[Source]:
        """The plain annotation `key`, if it is written."""
        return [(key, self.pod.annotations[key])] if key in self.pod.annotations else []

    def placement_sources(self, json_key: str, flat_key: str) -> list[Source]:
        """Every place where one field of the placement is written."""
        found = [
            (f"{key} {json_key}", one.value)
            for key in (keys.ACK_NUMA_SPEC, keys.KOORDINATOR_NUMA_SPEC)
            for one in self._document(key).fields
            if one.key == json_key and one.is_text
        ]
        return found + self.annotations(flat_key)

    def choose(self, sources: list[Source], legal: Mapping[str, T]) -> T | None:
        """The one value that all sources name; None when there is none or a fault was noted."""
        for key, text in sources:
            if text not in legal:
                self.faults.append(f"annotation {key}: found {text[:60]!r}; expected {_words(legal)}")
                return None
            if text != sources[0][1]:
                self.disagree(sources[0], (key, text))
                return None
        return legal[sources[0][1]] if sources else None

    def disagree(self, one: Source, other: Source) -> None:
        """Note that two keys say different things."""
        self.faults.append(
            f"annotation {other[0]}: found {other[1]!r} while {one[0]} says {one[1]!r}; expected one of the two keys, "
            "or the same meaning in both"
        )

    def check_spec(self, key: str) -> None:
        """Note what is wrong with a numa-topology-spec besides the values of its two fields."""
        if key not in self.pod.documents:
            return
        document = self._document(key)
        self._check_members(key, document, _SPEC_FIELDS)
        wrong = [one for one in document.fields if one.key in _SPEC_FIELDS and not one.is_text]
        for one in wrong:
            legal = _POLICIES if one.key == _SPEC_FIELDS[0] else _EXCLUSIVE
            self.faults.append(f"annotation {key} {one.key}: found {one.value[:60]}; expected {_words(legal)}")
        if not document.fault and not any(one.key == _SPEC_FIELDS[0] for one in document.fields):
            found = ", ".join(one.key[:40] for one in document.fields[:4]) or "{}"
            self.faults.append(
                f"annotation {key}: found {found} without numaTopologyPolicy; expected "
                f'{{"numaTopologyPolicy": "{"|".join(_POLICIES)}"}}'
            )

    def check_memory_locality(self) -> None:
        """Note what is wrong with koordinator.sh/memoryLocality (the agent obeys it later)."""
        key = keys.MEMORY_LOCALITY
        document = self._document(key)
        self._check_members(key, document, ("policy", "migrateIntervalMinutes"))
        for one in document.fields:
            if one.key == "policy" and (not one.is_text or one.value not in ("bestEffort", "none")):
                self.faults.append(f"annotation {key} policy: found {one.value[:60]!r}; expected bestEffort or none")
            if one.key == "migrateIntervalMinutes" and not _is_count(one):
                self.faults.append(
                    f"annotation {key} migrateIntervalMinutes: found {one.value[:60]}; expected a whole number of "
                    "minutes, 0 for once"
                )

    def _document(self, key: str) -> JsonDocument:
        return self.pod.documents.get(key, JsonDocument())

    def _check_members(self, key: str, document: JsonDocument, legal: tuple[str, ...]) -> None:
        if document.fault:
            self.faults.append(f"annotation {key}: {document.fault}")
        names = [one.key for one in document.fields]
        for name in dict.fromkeys(names):
            if name not in legal:
                self.faults.append(f"annotation {key}: found the unknown key {name[:60]!r}; expected {_words(legal)}")
            elif names.count(name) > 1:
                self.faults.append(f"annotation {key}: found {name} {names.count(name)} times; expected it once")


def _is_count(one: JsonField) -> bool:
    return not one.is_text and one.value.isascii() and one.value.isdigit()


def _words(legal: Iterable[str]) -> str:
    """The legal values as a person lists them: a, b or c."""
    *most, last = legal
    return f"{', '.join(most)} or {last}" if most else last

"""What Pods of one template ask is worked out once; the next one only gets its own name, age and pin.

A watch brings each Pod again and again, and Pods come in thousands of few kinds. Called
by `wire.live_pod`, which reads a Pod by itself, with its own name in every sentence,
wherever this has no answer.
"""

from dataclasses import replace
from functools import lru_cache

import msgspec

from numaplace.decide import admit
from numaplace.model import keys
from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.model.live_pod import pin_to
from numaplace.model.request import PodRequest
from numaplace.model.rules import PodRules
from numaplace.model.settings import Settings
from numaplace.wire import pod_object as obj
from numaplace.wire.pod import identity_of, pod_of

_TEMPLATES = 4096
_NOBODY = "x"
_read = msgspec.json.Decoder(obj.PodObject).decode


def request_like_others(pod: obj.PodObject, settings: Settings) -> PodRequest | None:
    """What the Pod asks; None where it must be read by itself: it is refused, or named in its own claims."""
    meta, spec = pod.metadata, pod.spec
    if any(one.ephemeral is not None for one in spec.volumes or ()):
        return None
    pin = _pin(spec)
    template = obj.PodObject(
        metadata=obj.Metadata(
            name=_NOBODY,
            namespace=meta.namespace,
            labels=meta.labels,
            annotations={key: text for key, text in (meta.annotations or {}).items() if key != keys.ALLOCATION},
            deletion_timestamp=meta.deletion_timestamp and _NOBODY,
        ),
        spec=msgspec.structs.replace(
            spec,
            affinity=_pinned(spec.affinity, _NOBODY) if pin else spec.affinity,
            volumes=[one for one in spec.volumes or () if one.persistent_volume_claim is not None],
            node_name=None,
            scheduling_gates=None,
        ),
    )
    asks = _asked(msgspec.json.encode(template), settings)
    if asks is None:
        return None
    try:
        uid, name, created_s = identity_of(meta, "")
    except InputError:
        return None
    rules = _with_pin(asks.rules, NodeName(pin)) if pin else asks.rules
    bound_to = NodeName(spec.node_name) if spec.node_name else None
    return replace(asks, uid=uid, name=name, created_s=created_s, bound_to=bound_to, rules=rules)


@lru_cache(maxsize=_TEMPLATES)
def _asked(template: bytes, settings: Settings) -> PodRequest | None:
    try:
        asks = admit.check(pod_of(_read(template), ""), settings)
    except InputError:
        return None
    return asks if isinstance(asks, PodRequest) else None


def _pin(spec: obj.PodSpec) -> str | None:
    """The one node that all `matchFields` of the required node affinity name."""
    names = {
        one.values[0] if one.operator == "In" and one.values and len(one.values) == 1 else ""
        for term in _terms(spec.affinity)
        for one in term.match_fields or ()
        if one.key == keys.NODE_NAME_FIELD
    }
    return names.pop() if len(names) == 1 else None


def _terms(affinity: obj.Affinity | None) -> list[obj.NodeSelectorTerm]:
    node = None if affinity is None else affinity.node_affinity
    return [] if node is None or node.required is None else node.required.node_selector_terms


def _pinned(affinity: obj.Affinity | None, node: str) -> obj.Affinity | None:
    """The affinity with another node in every place of the pin."""
    if affinity is None or affinity.node_affinity is None:
        return affinity
    swap = msgspec.structs.replace
    terms = [
        swap(term, match_fields=[swap(one, values=[node]) for one in term.match_fields or ()] or None)
        for term in _terms(affinity)
    ]
    required = obj.NodeSelector(node_selector_terms=terms)
    return swap(affinity, node_affinity=swap(affinity.node_affinity, required=required))


def _with_pin(rules: PodRules, node: NodeName) -> PodRules:
    pin = pin_to(node)
    terms = tuple(replace(term, fields=(pin,) * len(term.fields)) for term in rules.required_terms or ())
    return replace(rules, required_terms=terms)

"""Rule: the Pod's claims are there and bound, and their volumes can be had on the node.

`looked_up` settles what the claims come to; `refuse` holds a node against that. A claim
that waits for its Pod's node (WaitForFirstConsumer) is the scheduler's matter.
"""

from collections.abc import Mapping
from dataclasses import replace

from numaplace.decide.rules.node_affinity import matches
from numaplace.model.catalog import ZONE_LABELS, Catalog, Claim
from numaplace.model.keys import NODE_NAME_FIELD
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeRules, NodeTerm, Operator, Requirement, VolumePlace, Volumes

_SINCE = {"failure-domain.beta.kubernetes.io/": "topology.kubernetes.io/"}  # old labels, and what they are called now


def looked_up(request: PodRequest, catalog: Catalog) -> PodRequest:
    """The request, with what its claims come to."""
    if not request.rules.claims:
        return request
    volumes = look_up(request.namespace, request.rules.claims, catalog)
    return replace(request, rules=replace(request.rules, volumes=volumes))


def look_up(namespace: str, names: tuple[str, ...], catalog: Catalog) -> Volumes:
    """What a Pod's claims come to; the first that stands in the way of every node is the `problem`."""
    places, alone = [], set()
    for name in names:
        claim = catalog.claims.get((namespace, name))
        found = f"claim {name} does not exist" if claim is None else _place(claim, catalog)
        if isinstance(found, str):
            return Volumes(problem=found)
        if found is not None:
            places.append(found)
        if claim is not None and claim.alone:
            alone.add(name)
    return Volumes("", tuple(places), frozenset(alone))


def _place(claim: Claim, catalog: Catalog) -> VolumePlace | str | None:
    """Where a claim's volume can be had; None where any node will do for now; a sentence where none will."""
    if claim.lost:
        return f"claim {claim.name} is lost; its volume {claim.volume} is gone"
    if claim.leaving:
        return f"claim {claim.name} is being deleted"
    if claim.bound:
        volume = catalog.volumes.get(claim.volume)
        if volume is None:
            return f"claim {claim.name} is bound to volume {claim.volume}, which does not exist"
        if volume.terms is None and not volume.zones:
            return None  # it can be had on every node, and Pods that differ by such claims ask alike
        return VolumePlace(claim.name, volume.name, volume.terms, volume.zones)
    kind = catalog.classes.get(claim.storage_class)
    if claim.volume or kind is None or not kind.waits:
        return f"claim {claim.name} is not bound to a volume yet"
    if not claim.node:
        return None
    chosen = NodeTerm(fields=(Requirement(NODE_NAME_FIELD, Operator.IN, (claim.node,)),))
    return VolumePlace(claim.name, "that is being made", (chosen,))


def refuse(request: PodRequest, node: NodeRules) -> Refusal | None:
    """NODE_RULE naming the claim, and the volume that is elsewhere."""
    volumes = request.rules.volumes
    if volumes is None:
        return None
    if volumes.problem:
        return Refusal(Code.NODE_RULE, volumes.problem, node.name)
    for place in volumes.places:
        if place.terms is not None and not any(matches(term, node) for term in place.terms):
            sentence = f"volume {place.volume} of claim {place.claim}; its node affinity does not allow the node"
            return Refusal(Code.NODE_RULE, sentence, node.name)
        for label, values in place.zones if any(one in node.labels for one in ZONE_LABELS) else ():
            found = _zone(node.labels, label)
            if found not in values:
                has = "does not carry it" if found is None else f"has {found[:80]}"
                sentence = f"volume {place.volume} of claim {place.claim} has {label}={'|'.join(values)[:80]}"
                return Refusal(Code.NODE_RULE, f"{sentence}; the node {has}", node.name)
    return None


def _zone(labels: Mapping[str, str], label: str) -> str | None:
    """The node's zone or region; an old label of a volume is also met by the node's new one."""
    for old, now in _SINCE.items():
        if label.startswith(old):
            return labels.get(label, labels.get(now + label.removeprefix(old)))
    return labels.get(label)


def labels_read(volumes: Volumes) -> set[str]:
    """The node labels that `refuse` looks at."""
    zones = ZONE_LABELS if any(place.zones for place in volumes.places) else ()
    return {*zones, *(one.key for place in volumes.places for term in place.terms or () for one in term.labels)}


def reads_name(volumes: Volumes) -> bool:
    """Whether `refuse` looks at the node's name."""
    return any(term.fields for place in volumes.places for term in place.terms or ())

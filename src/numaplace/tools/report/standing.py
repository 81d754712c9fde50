"""Standing: one Pod of a cluster: how far it is, what it has or lacks, and what is wrong; as text and as JSON.

`tools/live` fills it; a Pod that waits carries the Explanation that `explain` on paper gives.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum

from numaplace.decide.place import Part
from numaplace.model.allocation import Allocation, ContainerShare
from numaplace.tools.report.explanation import Explanation, explanation_json, explanation_text
from numaplace.tools.report.grid import grid, indented
from numaplace.tools.report.words import short_names, short_numas, short_pcis


class Stand(StrEnum):
    """How a Pod stands with numaplace."""

    PLAIN = "plain"  # asks nothing of ours
    INVALID = "invalid"  # asks what nobody can give
    GATED = "gated"  # gates of others come first
    WAITS = "waits"  # at our gate
    ON_ITS_WAY = "on-its-way"  # has a plan, and is not bound yet
    LET_GO = "let-go"  # asks placement, but has no gate and no plan: the scheduler takes it as it comes
    PLACED = "placed"
    ASTRAY = "astray"  # bound to another node than the planned one
    CLASHES = "clashes"  # on its node, but what it was given there is another Pod's
    UNCHOSEN = "unchosen"  # runs, and nobody chose for it what it asks
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Place:
    """What a Pod was given, and how good that is."""

    allocation: Allocation
    least_width: int | None = None  # what its request needs at least on this machine when it is empty
    parts: tuple[Part, ...] = ()  # the score of its node as it would be counted now, the Pod itself not there


@dataclass(frozen=True, slots=True)
class Standing:
    """One Pod."""

    pod: str  # namespace/name
    uid: str
    stand: Stand
    sentences: tuple[str, ...]  # the first says how it is, the others why or what to do
    code: str = ""  # what it was refused with
    told: str = ""  # the sentence of its condition, with the numbers of the moment the code changed
    place: Place | None = None
    explanation: Explanation | None = None


def standing_text(one: Standing) -> str:
    """As a person reads it."""
    first, *more = one.sentences
    lines = [f"Pod {one.pod}: {first}", *indented(more)]
    if one.code:
        lines.append(f"  {one.code}: {one.told}")
    if one.place is not None:
        lines += indented(list(_place_lines(one.place)))
    if one.explanation is not None:
        lines += ["", explanation_text(one.explanation)]
    return "\n".join(lines)


def _place_lines(place: Place) -> Iterator[str]:
    allocation = place.allocation
    nodes = "NUMA node" if len(allocation.numas) == 1 else "NUMA nodes"
    yield f"{nodes} {short_numas(allocation.numas)} of node {allocation.node}; {_reached(place)}"
    rows = [(name, *_share_cells(share)) for name, share in sorted(allocation.containers.items())]
    yield from grid(("CONTAINER", "CPUS", "GPUS", "HCAS"), rows)
    if place.parts:
        yield "why this node, as it would be counted now:"
        yield from indented(
            grid((), [(f"{one.value:.2f} × {one.weight:g}", one.name, one.reason) for one in place.parts])
        )


def _reached(place: Place) -> str:
    allocation = place.allocation
    least = f", at least {place.least_width} needed" if place.least_width is not None else ""
    level = "" if allocation.gpu_hca is None else f"; farthest GPU from its nearest HCA: {allocation.gpu_hca.name}"
    return f"{allocation.policy}, width {allocation.width}{least}{level}"


def _share_cells(share: ContainerShare) -> tuple[str, str, str]:
    gpus = short_pcis(gpu.pci for gpu in share.gpus)
    return (str(share.cpus) or "shared", gpus or "–", short_names(hca.name for hca in share.hcas) or "–")


def standing_json(one: Standing) -> dict[str, object]:
    """For programs; docs/reference/status-json.md is its manual."""
    place = one.place
    return {
        "v": 1,
        "pod": one.pod,
        "uid": one.uid,
        "stand": one.stand,
        "sentences": list(one.sentences),
        "code": one.code or None,
        "told": one.told or None,
        "place": None if place is None else _place_json(place),
        "explanation": None if one.explanation is None else explanation_json(one.explanation),
    }


def _place_json(place: Place) -> dict[str, object]:
    allocation = place.allocation
    return {
        "node": allocation.node,
        "numas": list(allocation.numas),
        "policy": allocation.policy,
        "width": allocation.width,
        "least_width": place.least_width,
        "gpu_hca": None if allocation.gpu_hca is None else allocation.gpu_hca.name,
        "containers": {
            name: {
                "cpus": str(share.cpus),
                "gpus": [gpu.pci for gpu in share.gpus],
                "hcas": [hca.name for hca in share.hcas],
            }
            for name, share in sorted(allocation.containers.items())
        },
        "parts": [asdict(part) for part in place.parts],
    }

"""Explanation: one Pod held against every node, numa by numa; as text and as JSON.

`tools/sim` fills the nouns. Nodes that would take the Pod come first, best first, then
the nearest misses.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from numaplace.decide.place import Placement, ask_of, asked_text, size_text
from numaplace.model.ids import NodeName, NumaId
from numaplace.model.refusal import Refusal
from numaplace.model.request import CpuMode, PodRequest, Policy
from numaplace.tools.report.grid import grid, indented
from numaplace.tools.report.words import counted, cpus_text, short_names, short_pcis

MOST_NODES = 12  # shown in full; the rest is counted
_CPU_WORDS = {
    CpuMode.EXCLUSIVE: "CPUs of its own",
    CpuMode.CONFINED: "CPUs shared within its NUMA nodes",
    CpuMode.FLOATING: "CPUs anywhere on the node",
}


@dataclass(frozen=True, slots=True)
class Supply:
    """One resource of one numa."""

    resource: str  # CPUs, GPUs, HCAs, memory
    asked: int
    free: int
    total: int

    @property
    def short(self) -> int:
        """How much is missing for the Pod as a whole in this numa alone."""
        return max(0, self.asked - self.free)


@dataclass(frozen=True, slots=True)
class NumaView:
    """One numa of a node, as the Pod would find it."""

    numa: NumaId
    supplies: tuple[Supply, ...]
    marks: tuple[str, ...]  # single, wide
    chosen: bool  # whether the Pod's place on this node is here


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node's answer; None: it takes the Pod, and nobody looks inside."""

    node: NodeName
    answer: Placement | Refusal | None
    numas: tuple[NumaView, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One Pod on all nodes; the first view is where it would go, if it would go anywhere."""

    request: PodRequest | None  # None: the Pod itself is not valid
    name: str
    refusal: Refusal | None  # why there is no place at all
    views: tuple[NodeView, ...]


def explanation_text(one: Explanation) -> str:
    """The explanation as a person reads it."""
    if one.request is None:
        return f"Pod {one.name}\n  {one.refusal.code}: {one.refusal.sentence}" if one.refusal else one.name
    lines = [f"Pod {one.name} asks {_asked(one.request)}"]
    for place, view in enumerate(one.views[:MOST_NODES]):
        lines += ["", *indented(list(_node_lines(view, first=place == 0)))]
    rest = one.views[MOST_NODES:]
    if rest:
        counts = Counter(_word(view) for view in rest)
        said = ", ".join(f"{counted(count, 'node')}: {word}" for word, count in counts.most_common())
        lines += ["", f"  and {said}; --node NAME shows one of them"]
    return "\n".join(lines)


def _asked(request: PodRequest) -> str:
    if not request.is_planned:
        return "nothing that numaplace places: it is counted by node only"
    policy = "no policy" if request.policy is Policy.NONE else f"{request.policy}, {request.exclusivity}"
    return f"{asked_text(ask_of(request))}; {policy}; {_CPU_WORDS[request.cpu_mode]}"


def _word(view: NodeView) -> str:
    return view.answer.code.value if isinstance(view.answer, Refusal) else "fits"


def _node_lines(view: NodeView, *, first: bool) -> Iterator[str]:
    answer = view.answer
    if isinstance(answer, Refusal):
        yield f"node {view.node}: {answer.code}"
        yield f"  {answer.sentence}"
    elif answer is None:
        yield f"node {view.node}: fits, without NUMA care"
    else:
        chosen = " — it would go here" if first else ""
        yield f"node {view.node}: fits, score {answer.rank.score:.3f}{chosen}"
        allocation = answer.allocation
        gpus = short_pcis(gpu.pci for gpu in allocation.gpus)
        hcas = short_names(hca.name for hca in allocation.hcas)
        things = (f"CPUs {cpus_text(allocation)}", f"GPUs {gpus}" if gpus else "", f"HCAs {hcas}" if hcas else "")
        yield f"  would get {'; '.join(filter(None, things))}"
    if view.numas:
        yield from indented(_numa_grid(view))


def _numa_grid(view: NodeView) -> list[str]:
    """One line a numa: what is free of what there is, and what is missing there for the whole Pod."""
    names = [supply.resource for supply in view.numas[0].supplies]
    rows = []
    for numa in view.numas:
        free = [f"{_amount(supply, supply.free)} of {_amount(supply, supply.total)}" for supply in numa.supplies]
        rows.append((str(numa.numa), *free, " ".join(numa.marks) or "–", _missing(numa)))
    asked = [_amount(supply, supply.asked) if supply.asked else "–" for supply in view.numas[0].supplies]
    return grid(("NUMA", *(f"{name} free" for name in names), "MARKS", "ALONE"), [("asked", *asked, "", ""), *rows])


def _missing(numa: NumaView) -> str:
    if numa.chosen:
        return "chosen"
    short = [_things(supply) for supply in numa.supplies if supply.short]
    return f"{', '.join(short)} short" if short else "enough"


def _things(supply: Supply) -> str:
    if supply.resource == "memory":
        return f"{size_text(supply.short)} memory"
    return counted(supply.short, supply.resource.removesuffix("s"))


def _amount(supply: Supply, amount: int) -> str:
    return size_text(amount) if supply.resource == "memory" else f"{amount:,}"


def explanation_json(one: Explanation) -> dict[str, object]:
    """The explanation for programs; docs/reference/simulation-report.md is its manual."""
    refusal = one.refusal
    return {
        "pod": one.name,
        "asks": None if one.request is None else _asked(one.request),
        "code": None if refusal is None else refusal.code,
        "sentence": None if refusal is None else refusal.sentence,
        "nodes": [_view_json(view) for view in one.views],
    }


def _view_json(view: NodeView) -> dict[str, object]:
    answer = view.answer
    numas = [
        {"numa": numa.numa, "marks": numa.marks, "chosen": numa.chosen, "rooms": _supplies_json(numa.supplies)}
        for numa in view.numas
    ]
    if isinstance(answer, Refusal):
        told = {"code": answer.code, "sentence": answer.sentence, "fits": answer.fits}
        return {"node": view.node, "fits": False, **told, "numas": numas}
    if answer is None:
        return {"node": view.node, "fits": True, "numas": numas}
    allocation = answer.allocation
    return {
        "node": view.node,
        "fits": True,
        "score": round(answer.rank.score, 6),
        "parts": [asdict(part) for part in answer.parts],
        "place": {
            "numas": list(allocation.numas),
            "cpus": str(allocation.cpus),
            "gpus": [gpu.pci for gpu in allocation.gpus],
            "hcas": [hca.name for hca in allocation.hcas],
            "gpu_hca": None if allocation.gpu_hca is None else allocation.gpu_hca.name,
        },
        "numas": numas,
    }


def _supplies_json(supplies: Sequence[Supply]) -> list[dict[str, object]]:
    return [{**asdict(supply), "short": supply.short} for supply in supplies]

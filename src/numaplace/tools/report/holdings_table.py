"""Holdings as a person reads them: a few nodes in full, many nodes one a line, then who waits."""

from collections.abc import Iterator, Sequence

from numaplace.model.words import counted
from numaplace.tools.report.grid import grid, indented
from numaplace.tools.report.holdings import Holdings, NodeHoldings, NumaHoldings, Share, Stock, WaitingPod
from numaplace.tools.report.words import age, short_names, short_pcis

MOST_NODES = 8  # shown in full; beyond that each is a line
MOST_WAITING = 40
_HEAD = ("NUMA", "POD", "PHASE", "CPUS", "GPUS", "HCAS")
_LINE_HEAD = ("NODE", "REPORT", "PODS", "CPUS FREE", "GPUS FREE", "HCAS FREE")
_WAITING_HEAD = ("WAITING POD", "AGE", "CODE", "ASKS")


def holdings_text(found: Holdings, *, nodes: bool = True, waiting: bool = True) -> str:
    """The whole answer; `nodes` and `waiting` say which halves of it."""
    blocks = []
    if nodes and len(found.nodes) <= MOST_NODES:
        blocks += [_node(one) for one in found.nodes] or [["there is no node"]]
    elif nodes:
        blocks.append(grid(_LINE_HEAD, [_node_row(one) for one in found.nodes]))
        blocks.append(["free amounts by NUMA node; --node NAME shows one node with its Pods"])
    if waiting:
        blocks.append(_waiting(found.waiting, found.at_s))
    blocks.append([f"note: {problem}" for problem in found.problems])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _node(one: NodeHoldings) -> list[str]:
    lines = [f"node {one.node}: {', '.join(_standing(one))}"]
    if one.numas:
        lines += indented(grid(_HEAD, [row for numa in one.numas for row in _numa_rows(numa)]))
    counted_only = one.counted
    if counted_only:
        cpus = sum(pod.shared_cpu_milli for pod in counted_only) / 1000
        gpus = sum(pod.unnamed_gpus for pod in counted_only)
        cards = f" and {counted(gpus, 'GPU')} that nobody has named" if gpus else ""
        lines.append(f"  {counted(len(counted_only), 'Pod')} counted by node only: {cpus:g} CPUs{cards}")
    return lines


def _standing(one: NodeHoldings) -> Iterator[str]:
    told = "" if one.report_age_s is None else f", {age(one.report_age_s)} old"
    yield "no report" if one.report == "none" else f"{one.report} report{told}"
    if not one.enabled:
        yield "not enabled"
    if one.cordoned:
        yield "cordoned"


def _numa_rows(numa: NumaHoldings) -> Iterator[Sequence[str]]:
    """The Pods of a numa, then what is free of what there is."""
    name = "?" if numa.numa is None else str(numa.numa)
    for share in numa.shares:
        yield (
            name,
            share.pod,
            share.phase,
            _cpus(share),
            short_pcis(share.gpus) or "–",
            short_names(share.hcas) or "–",
        )
        name = ""
    marks = f" ({', '.join(numa.marks)})" if numa.marks else ""
    yield (name, f"free{marks}", "", _free(numa.cpus), _free(numa.gpus), _free(numa.hcas))


def _cpus(share: Share) -> str:
    if share.cpus:
        return str(share.cpus)
    return f"{share.shared_cpu_milli / 1000:g} shared" if share.shared_cpu_milli else "–"


def _free(stock: Stock) -> str:
    return f"{stock.free} of {stock.total}" if stock.total else "–"


def _node_row(one: NodeHoldings) -> Sequence[str]:
    report = one.report if one.report_age_s is None else f"{one.report} {age(one.report_age_s)}"
    closed = "".join(
        word for word, is_so in ((", not enabled", not one.enabled), (", cordoned", one.cordoned)) if is_so
    )
    stocks = [[getattr(numa, name) for numa in one.numas] for name in ("cpus", "gpus", "hcas")]
    return (one.node, f"{report}{closed}", str(len(one.pods)), *map(_by_numa, stocks))


def _by_numa(stocks: Sequence[Stock]) -> str:
    """`0+4 of 8`: free in each NUMA node, and all there is."""
    total = sum(one.total for one in stocks)
    return f"{'+'.join(str(one.free) for one in stocks)} of {total}" if total else "–"


def _waiting(waiting: Sequence[WaitingPod], at_s: float) -> list[str]:
    if not waiting:
        return ["no Pod waits"]
    rows = [(one.pod, _age(one, at_s), _why(one), one.asks or "–") for one in waiting[:MOST_WAITING]]
    left = len(waiting) - MOST_WAITING
    more = [f"… and {left:,} more; -o json has all of them"] if left > 0 else []
    return [*grid(_WAITING_HEAD, rows), *more]


def _age(one: WaitingPod, at_s: float) -> str:
    return "–" if one.created_s is None else age(at_s - one.created_s)


def _why(one: WaitingPod) -> str:
    if one.gates:
        return f"gates of others: {', '.join(one.gates)}"
    return one.code or "not decided yet"

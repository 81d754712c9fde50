"""Cluster traces as CSV or JSON lines: Pods with the times they come and go, and the nodes of openb.

Three formats, told apart by their header: openb (Alibaba GPU cluster 2023), dlrm
(Alibaba recommendation models 2025) and our own; docs/reference/trace-format.md is
the manual. What a format cannot say (policies) is the caller's to add.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from numaplace.model import keys
from numaplace.model.errors import InputError
from numaplace.model.ids import ContainerName, PodUid
from numaplace.model.pod import Container, Pod
from numaplace.model.request import ContainerKind
from numaplace.model.rules import NodeTerm, Operator, PodRules, Requirement
from numaplace.model.settings import Settings
from numaplace.wire.pod import decode as decode_pod
from numaplace.wire.quantity import parse_quantity
from numaplace.wire.strict import shown
from numaplace.wire.trace_rows import Row, columns_of, csv_rows, json_rows, name_in, number, whole

GPU_MODEL_LABEL = "numaplace.dev/gpu-model"  # put on the nodes of openb, asked by Pods that name models

_OPENB = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_DLRM = ("instance_sn", "role", "app_name", "cpu_request", "gpu_request", "rdma_request", "memory_request")
_OWN = ("name", "arrives_s")
_OWN_MORE = (
    *("leaves_s", "namespace", "priority", "cpu", "memory", "gpu", "hca", "gpu_model"),
    *("policy", "exclusive", "cpus", "cpu_rule", "memory_mode", "gpu_hca"),
)
_ANNOTATED = {
    "policy": keys.POLICY,
    "exclusive": keys.EXCLUSIVE,
    "cpus": keys.CPUS,
    "cpu_rule": keys.CPU_RULE,
    "memory_mode": keys.MEMORY,
    "gpu_hca": keys.GPU_HCA,
}
_WHOLE_CARD_MILLI = 1000
_MIB, _GIB = 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class TracedPod:
    """A Pod of a trace and its times, in seconds on the trace's clock."""

    pod: Pod
    arrives_s: float
    leaves_s: float | None  # None: after the end of the trace


@dataclass(frozen=True, slots=True)
class Trace:
    """The Pods of a trace, and in sentences what of it is not here."""

    pods: tuple[TracedPod, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked for Pods whose trace says nothing of NUMA: annotations by key, for those with GPUs."""

    annotations: Mapping[str, str] = field(default_factory=dict)


def wishes_for(policy: str, exclusive: str) -> Wishes:
    """The wishes of Pods with GPUs: a policy and its exclusivity, by the names that annotations have."""
    return Wishes({keys.POLICY: policy, keys.EXCLUSIVE: exclusive})


def is_trace(text: str) -> bool:
    """Whether a text begins as one of the formats does; a header that almost fits counts, to be told what is wrong."""
    first = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    if first.startswith("{"):
        return '"arrives_s"' in first
    columns = set(columns_of(first))
    return any(len(columns & set(known)) >= min(2, len(known)) for known in (_OPENB, _DLRM, _OWN))


def decode_trace(text: str, where: str, wishes: Wishes, settings: Settings) -> Trace:
    """The Pods of a trace in its order; InputError names the line and the column."""
    text = text.lstrip("\ufeff")
    if text.lstrip()[:1] == "{":
        return Trace(tuple(_own(row, at, wishes, settings) for row, at in json_rows(text, where)))
    columns = set(columns_of(text))
    for known, read in ((_OPENB, _read_openb), (_DLRM, _read_dlrm), (_OWN, _read_own)):
        if columns.issuperset(known):
            return read(csv_rows(text, where), where, wishes, settings)
    raise InputError(
        f"{where}: line 1",
        found=f"the columns {', '.join(sorted(columns))[:120]}",
        wanted=f"those of openb ({', '.join(_OPENB)}), of dlrm ({', '.join(_DLRM)}) or ours ({', '.join(_OWN)})",
    )


def _read_own(rows: Iterator[tuple[Row, str]], _where: str, wishes: Wishes, settings: Settings) -> Trace:
    return Trace(tuple(_own(row, at, wishes, settings) for row, at in rows))


def _own(row: Mapping[str, object], where: str, wishes: Wishes, settings: Settings) -> TracedPod:
    """One Pod of our own format."""
    odd = set(row) - {*_OWN, *_OWN_MORE, "pod"}
    if odd:
        wanted = f"only {', '.join((*_OWN, *_OWN_MORE))} or pod"
        raise InputError(where, found=f"the unknown column {min(odd)[:60]!r}", wanted=wanted)
    arrives_s, leaves_s = _times(_text(row, "arrives_s"), _text(row, "leaves_s"), where)
    if "pod" in row:
        return TracedPod(decode_pod(row["pod"], f"{where}: pod"), arrives_s, leaves_s)
    milli = {
        name: parse_quantity(_text(row, column) or "0", f"{where}: {column}")
        for column, name in _resources(settings).items()
    }
    said = {key: _text(row, column) for column, key in _ANNOTATED.items() if _text(row, column)}
    pod = _pod(
        name=name_in(_text(row, "name"), f"{where}: name"),
        namespace=name_in(_text(row, "namespace") or "default", f"{where}: namespace"),
        milli=milli,
        annotations=said or _wished(wishes, milli, settings),
        model=_text(row, "gpu_model"),
        settings=settings,
        priority=whole(_text(row, "priority") or "0", f"{where}: priority", -(2**31), 2**31 - 1),
    )
    return TracedPod(pod, arrives_s, leaves_s)


def _resources(settings: Settings) -> dict[str, str]:
    return {"cpu": "cpu", "memory": "memory", "gpu": settings.gpu_resource, "hca": settings.hca_resource}


def _read_openb(rows: Iterator[tuple[Row, str]], where: str, wishes: Wishes, settings: Settings) -> Trace:
    """openb: whole cards and Pods without a card; Pods that share a card are left out and counted."""
    pods, shares = [], 0
    for row, at in rows:
        gpus = whole(row["num_gpu"], f"{at}: num_gpu", 0, 1024)
        milli = number(row["gpu_milli"], f"{at}: gpu_milli", 0, _WHOLE_CARD_MILLI)
        if gpus and milli < _WHOLE_CARD_MILLI:
            shares += 1
            continue
        amounts = {
            "cpu": whole(row["cpu_milli"], f"{at}: cpu_milli", 0, 10**9),
            "memory": 1000 * _MIB * whole(row["memory_mib"], f"{at}: memory_mib", 0, 10**12),
            settings.gpu_resource: 1000 * gpus,
        }
        name = name_in(row["name"], f"{at}: name")
        annotations = _wished(wishes, amounts, settings)
        pod = _pod(name, "openb", amounts, annotations, row.get("gpu_spec", ""), settings)
        arrives_s, leaves_s = _times(row.get("creation_time", "0") or "0", row.get("deletion_time", ""), at)
        pods.append(TracedPod(pod, arrives_s, leaves_s))
    said = f"{where}: {shares:,} Pods that share a GPU are left out: numaplace places whole cards"
    return Trace(tuple(pods), (said,) if shares else ())


def _read_dlrm(rows: Iterator[tuple[Row, str]], where: str, wishes: Wishes, settings: Settings) -> Trace:
    """dlrm: instances with GPUs (HN) and without (CN); any share of an RDMA NIC is one shared HCA."""
    pods, limited = [], 0
    for row, at in rows:
        limited += row.get("max_instance_per_node", "-1") not in ("", "-1")
        amounts = {
            "cpu": parse_quantity(row["cpu_request"], f"{at}: cpu_request"),
            "memory": _GIB * parse_quantity(row["memory_request"], f"{at}: memory_request"),
            settings.gpu_resource: parse_quantity(row["gpu_request"], f"{at}: gpu_request"),
            settings.hca_resource: 1000 * (number(row["rdma_request"], f"{at}: rdma_request", 0, 10**6) > 0),
        }
        name = name_in(row["instance_sn"], f"{at}: instance_sn")
        app = name_in(row["app_name"] or "dlrm", f"{at}: app_name")
        annotations = _wished(wishes, amounts, settings)
        pod = _pod(name.replace("_", "-"), app, amounts, annotations, "", settings)
        arrives_s, leaves_s = _times(row.get("creation_time", "") or "0", row.get("deletion_time", ""), at)
        pods.append(TracedPod(pod, arrives_s, leaves_s))
    notes = [f"{where}: disks and shares of an RDMA NIC's bandwidth are not modelled: a share is one shared HCA"]
    if limited:
        notes.append(f"{where}: max_instance_per_node of {limited:,} Pods is not modelled")
    return Trace(tuple(pods), tuple(notes))


def _wished(wishes: Wishes, milli: Mapping[str, int], settings: Settings) -> Mapping[str, str]:
    return wishes.annotations if milli.get(settings.gpu_resource) else {}


def _pod(
    name: str,
    namespace: str,
    milli: Mapping[str, int],
    annotations: Mapping[str, str],
    model: str,
    settings: Settings,
    priority: int = 0,
) -> Pod:
    """A Pod of one container whose requests equal its limits; with HCAs it uses the host's network."""
    asked = {resource: amount for resource, amount in milli.items() if amount}
    models = tuple(filter(None, (one.strip() for one in model.split("|"))))
    terms = (NodeTerm(labels=(Requirement(GPU_MODEL_LABEL, Operator.IN, models),)),) if models else None
    return Pod(
        uid=PodUid(f"{namespace}/{name}"),
        namespace=namespace,
        name=name,
        containers=(Container(ContainerName("main"), ContainerKind.APP, asked, asked),),
        annotations=annotations,
        rules=PodRules(required_terms=terms),
        host_network=bool(milli.get(settings.hca_resource)),
        priority=priority,
        owner="Trace/pods",  # they are made again when a kubelet fails them
    )


def _text(row: Mapping[str, object], column: str) -> str:
    value = row.get(column)
    return "" if value is None else str(value).strip() if not isinstance(value, dict | list) else shown(value)


def _times(arrives: str, leaves: str, where: str) -> tuple[float, float | None]:
    """Seconds; a Pod may not leave before it comes."""
    arrives_s = number(arrives, f"{where}: time of arrival", -1e15, 1e15)
    leaves_s = number(leaves, f"{where}: time of leaving", -1e15, 1e15) if leaves else None
    if leaves_s is not None and leaves_s < arrives_s:
        raise InputError(f"{where}: time of leaving", found=leaves, wanted=f"a time not before the arrival, {arrives}")
    return arrives_s, leaves_s

"""What `simulate` and `explain` read: nodes and Pods of every accepted kind, told apart by content."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from numaplace.adapters.sysfs import read_tree
from numaplace.decide.admit import warnings
from numaplace.decide.discover import assemble
from numaplace.model.catalog import Catalog, Entry, Namespace, catalog_of
from numaplace.model.cluster import ClusterState, NodeState, node_state
from numaplace.model.errors import InputError, located
from numaplace.model.ids import NodeName
from numaplace.model.keys import ALIGN_LEVEL
from numaplace.model.layout import AlignLevel
from numaplace.model.pod import Pod
from numaplace.model.settings import Settings
from numaplace.tools.cli.files import is_capture, read_text
from numaplace.tools.sim.arrivals import pods_of, renamed_apart
from numaplace.tools.sim.cluster import captured_node, cluster_of, nodes_of
from numaplace.wire.manifests import Manifests, decode_manifests
from numaplace.wire.node_groups import decode_groups
from numaplace.wire.nodes import DumpedNode, decode_nodes
from numaplace.wire.report import report_of
from numaplace.wire.trace import TracedPod, Wishes, decode_trace, is_trace
from numaplace.wire.trace_nodes import decode_node_list, is_node_list

_KUBERNETES = re.compile(r'^(?:- )?apiVersion\s*:|"apiVersion"\s*:', re.MULTILINE)
_ARCHIVE_SUFFIXES = re.compile(r"\.(tar|tgz|tbz2?|txz|gz|bz2|xz)$")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes as they were described, what Pods' claims may come to there, and what was odd about that."""

    state: ClusterState
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()

    def catalog(self, more: Iterable[Entry] = ()) -> Catalog | None:
        """What claims come to, those of manifests (`more`) too; None: the files do not tell."""
        told = any(isinstance(one, Namespace) for one in self.entries)
        return catalog_of((*self.entries, *more)) if told else None


@dataclass(frozen=True, slots=True)
class Input:
    """Pods with their times, and what of the files is not among them."""

    pods: tuple[TracedPod, ...]
    entries: tuple[Entry, ...] = ()  # claims, volumes and the like that the files make
    notes: tuple[str, ...] = ()


def read_nodes(paths: Sequence[str], settings: Settings) -> Cluster:
    """All nodes of all files; InputError where a file is none of the kinds, or a name comes twice."""
    nodes: dict[NodeName, NodeState] = {}
    entries: list[Entry] = []
    notes: list[str] = []
    for path in paths:
        for node in _nodes_in(path, settings, entries, notes):
            if node.name in nodes:
                raise InputError(path, found=f"the node {node.name} a second time", wanted="each node once")
            nodes[node.name] = node
            notes += _odd_labels(node, path)
    spaces = [one for one in entries if isinstance(one, Namespace)]
    return Cluster(cluster_of(nodes.values(), spaces), tuple(entries), tuple(dict.fromkeys(notes)))


def _odd_labels(node: NodeState, path: str) -> Iterator[str]:
    level = node.rules.labels.get(ALIGN_LEVEL)
    if level is not None and level not in tuple(AlignLevel):
        legal = " or ".join(AlignLevel)
        yield f"{path}: node label {ALIGN_LEVEL}: found {level[:80]!r}; expected {legal}; {AlignLevel.NUMA} is taken"


def _nodes_in(path: str, settings: Settings, entries: list[Entry], notes: list[str]) -> Iterator[NodeState]:
    if is_capture(path):
        found = assemble(read_tree(Path(path)))
        name = _ARCHIVE_SUFFIXES.sub("", _ARCHIVE_SUFFIXES.sub("", Path(path).resolve().name)).lower()
        yield captured_node(NodeName(name), found.topology, settings)
        return
    text = read_text(path)
    if is_node_list(text):
        groups = decode_node_list(text, path, settings)
        notes.append(f"{path}: NUMA domains are laid over the trace's nodes: two from 32 CPUs on, GPUs spread evenly")
    elif _KUBERNETES.search(text):
        dump = decode_nodes(text, path)
        if not dump.nodes:
            raise InputError(path, found="no Node", wanted="the output of kubectl get noderesourcetopologies,nodes")
        entries.extend(dump.entries)
        notes.extend(f"{path}: {node.problem}" for node in dump.nodes if node.problem)
        yield from (_dumped(node, path) for node in dump.nodes)
        return
    else:
        groups = decode_groups(text, path)
    for group in groups:
        yield from nodes_of(group, settings)


def _dumped(node: DumpedNode, path: str) -> NodeState:
    with located(path):
        report = None if node.report is None else report_of(node.report)
    if report is None:
        return node_state(node.rules.name, node.rules)
    return node_state(node.rules.name, node.rules, report.topology, report.reserved)


def read_pods(paths: Sequence[str], nodes: Iterable[NodeState], wishes: Wishes, settings: Settings) -> Input:
    """All Pods of all files, in order; those of manifests arrive at time 0."""
    nodes = tuple(nodes)
    pods: list[TracedPod] = []
    entries: list[Entry] = []
    notes: list[str] = []
    for path in paths:
        text = read_text(path)
        if is_trace(text):
            trace = decode_trace(text, path, wishes, settings)
            pods += trace.pods
            notes += trace.notes
        else:
            found = decode_manifests(text, path)
            if not found.workloads:
                raise InputError(path, found="nothing that makes Pods", wanted="Pods, controllers or a trace")
            entries += found.entries
            notes += manifest_notes(found)
            pods += [TracedPod(pod, 0.0, None) for pod in pods_of(found.workloads, nodes, settings)]
    renamed = renamed_apart(one.pod for one in pods)
    return Input(tuple(_with(one, pod) for one, pod in zip(pods, renamed, strict=True)), tuple(entries), tuple(notes))


def manifest_notes(found: Manifests) -> tuple[str, ...]:
    """What its controllers, and its Pods that do not run yet, say to no effect; each thing once."""
    said: dict[str, list[str]] = {}
    for pod in (one.template for one in found.workloads if one.template.node_name is None):
        for sentence in warnings(pod):
            said.setdefault(sentence.removeprefix(f"Pod {pod.full_name}: "), []).append(pod.full_name)
    told = (f"Pod {who[0]}{_more(len(who) - 1)}: {sentence}" for sentence, who in said.items())
    return (*found.warnings, *told)


def _more(count: int) -> str:
    return f" and {count:,} more" if count else ""


def _with(one: TracedPod, pod: Pod) -> TracedPod:
    return one if one.pod is pod else replace(one, pod=pod)

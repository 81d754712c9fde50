"""`numaplace explain POD.yaml --nodes FILE`: a Pod of a file held against every node, with all the reasons."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from numaplace.decide.admit import check
from numaplace.decide.rules import Company, looked_up
from numaplace.model.catalog import Catalog
from numaplace.model.cluster import ClusterState, NodeState
from numaplace.model.errors import InputError
from numaplace.model.pod import Pod
from numaplace.model.refusal import Refusal
from numaplace.model.settings import Settings
from numaplace.tools.cli.files import deliver, read_text
from numaplace.tools.cli.paper import manifest_notes, read_nodes, read_pods
from numaplace.tools.cli.settings import settings_options
from numaplace.tools.report.document import json_text
from numaplace.tools.report.explanation import Explanation, explanation_json, explanation_text
from numaplace.tools.show.plain import plain
from numaplace.tools.sim.arrivals import intake_of, unread_note
from numaplace.tools.sim.contenders import contender
from numaplace.tools.sim.explaining import explain
from numaplace.tools.sim.play import play
from numaplace.wire.manifests import Manifests, decode_manifests
from numaplace.wire.trace import Wishes
from numaplace.wire.workload import Workload, expand


@click.command("file")
@click.argument("manifest", metavar="POD.yaml")
@click.option("--nodes", "node_files", multiple=True, required=True, metavar="FILE", help="As in simulate.")
@click.option("--pods", "pod_files", multiple=True, metavar="FILE", help="Pods that are placed first.")
@click.option("--pod", "only_pod", metavar="NAME", help="Only this Pod or controller of the file.")
@click.option("--node", "only_node", metavar="NAME", help="Only this node.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--to", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write there instead.")
@settings_options
def explain_file(
    manifest: str,
    node_files: tuple[str, ...],
    pod_files: tuple[str, ...],
    only_pod: str | None,
    only_node: str | None,
    output: str,
    to: Path | None,
    settings: Settings,
) -> None:
    """Say where a Pod would go and why: per node, per NUMA node, what is asked, what is free, what stops it."""
    given = decode_manifests(read_text(manifest), manifest)
    state, catalog = _filled(node_files, pod_files, given, settings)
    nodes = tuple(node for node in state.nodes.values() if only_node in (None, node.name))
    if not nodes:
        raise InputError("--node", found=repr(only_node), wanted=f"a node of {', '.join(node_files)}")
    company = Company(state)
    pods = tuple(_pods(given.workloads, manifest, only_pod))
    found = [_explained(pod, nodes, company, catalog, settings) for pod in pods]
    unread = unread_note([pod for pod in pods if catalog is None and pod.rules.claims])
    deliver(_shown(found, (*manifest_notes(given), *unread), output), to)


def _filled(
    node_files: Sequence[str], pod_files: Sequence[str], given: Manifests, settings: Settings
) -> tuple[ClusterState, Catalog | None]:
    """The nodes, filled with the Pods that are placed first, and what claims come to."""
    cluster = read_nodes(node_files, settings)
    first = read_pods(pod_files, cluster.state.nodes.values(), Wishes(), settings)
    catalog = cluster.catalog((*first.entries, *given.entries))
    intake = intake_of(((one.pod, one.arrives_s, one.leaves_s) for one in first.pods), settings, catalog)
    return play(intake.arrivals, contender("numaplace", cluster.state, settings, seed=0)).state, catalog


def _pods(workloads: Sequence[Workload], path: str, only: str | None) -> Iterator[Pod]:
    """One Pod of each workload of the file: copies have equal answers."""
    chosen = [one for one in workloads if only in (None, one.template.name, one.template.full_name)]
    if not chosen:
        names = ", ".join(one.template.full_name for one in workloads)[:120]
        raise InputError(
            path if only is None else "--pod", found=repr(only) if only else "no Pod", wanted=names or "a Pod"
        )
    for workload in chosen:
        copies = () if workload.per_node else expand(workload)
        yield copies[0] if copies else workload.template


def _explained(
    pod: Pod, nodes: Sequence[NodeState], company: Company, catalog: Catalog | None, settings: Settings
) -> Explanation:
    request = check(pod, settings)
    if isinstance(request, Refusal):
        return Explanation(None, pod.full_name, request, ())
    if catalog is not None:
        request = looked_up(request, catalog)
    return explain(nodes, request, settings, company.around(request))


def _shown(found: Sequence[Explanation], notes: Iterable[str], output: str) -> str:
    if output == "table":
        parts = [*map(explanation_text, found), "\n".join(f"note: {note}" for note in notes)]
        return plain("\n\n".join(filter(None, parts)), sys.stdout.encoding)
    document = {"v": 1, "pods": [explanation_json(one) for one in found], "notes": list(notes)}
    return json_text(document)

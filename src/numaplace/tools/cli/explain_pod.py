"""`numaplace explain pod`: how one Pod of a cluster stands, and why."""

import sys

import click

from numaplace.model.errors import InputError
from numaplace.tools.cli.candidates import pods
from numaplace.tools.cli.files import deliver
from numaplace.tools.cli.source import Source, source_options
from numaplace.tools.live.standing import standing_of
from numaplace.tools.report.document import json_text
from numaplace.tools.report.standing import standing_json, standing_text
from numaplace.tools.show.plain import plain


@click.command("pod")
@click.argument("name", metavar="[NAMESPACE/]NAME", shell_complete=pods)
@click.option("-n", "--namespace", help="Its namespace  [default: that of the context]")
@click.option("--node", "only_node", default="", metavar="NAME", help="Hold it against this node only.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@source_options
def explain_pod(source: Source, name: str, namespace: str | None, only_node: str, output: str) -> None:
    """Say how a Pod of a cluster stands: where it lies and why there, or what it lacks on each node.

    Needs the right to list Nodes, NodeResourceTopologies and Pods, and to get the
    planner's Lease; without the Lease the options count, and a note says so.
    """
    space, bare = _named(name, namespace, source.namespace)
    found = standing_of(source.reading(), space, bare, only_node)
    if output == "json":
        deliver(json_text(standing_json(found)), None)
    else:
        deliver(plain(standing_text(found), sys.stdout.encoding), None)


def _named(name: str, namespace: str | None, usual: str) -> tuple[str, str]:
    """The Pod's namespace and name, however they are written: `ns/p`, `p -n ns`, `pod/p`."""
    space, _, bare = name.removeprefix("pod/").rpartition("/")
    if not bare or "/" in space:
        raise InputError("the Pod", found=repr(name[:80]), wanted="NAMESPACE/NAME, or NAME with --namespace")
    if space and namespace not in (None, space):
        raise InputError("--namespace", found=repr(namespace), wanted=f"{space}, or no namespace before the name")
    return space or namespace or usual, bare

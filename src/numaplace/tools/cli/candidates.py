"""Candidates for the shell: the Pods of the cluster that the words so far mean."""

import asyncio

import click
from click.shell_completion import CompletionItem

from numaplace.adapters.kube import Access, Kube
from numaplace.adapters.kube.resources import PODS
from numaplace.model.errors import NumaplaceError
from numaplace.tools.cli.access import find_access
from numaplace.wire.pod_object import PodObject

_PATIENCE_S = 3.0  # a person waits at the prompt


def pods(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The Pods of the namespace that is meant: `NAME`, or `NAMESPACE/NAME` where one has been begun."""
    space, slash, _begun = incomplete.rpartition("/")
    try:
        access = find_access(ctx.params.get("kubeconfig"), ctx.params.get("context"))
        names = asyncio.run(_names(access, space or ctx.params.get("namespace") or access.namespace))
    except (NumaplaceError, TimeoutError):
        return []
    return [CompletionItem(f"{space}{slash}{name}") for name in names if f"{space}{slash}{name}".startswith(incomplete)]


async def _names(access: Access, namespace: str) -> list[str]:
    async with asyncio.timeout(_PATIENCE_S), Kube(access) as kube:
        pages = kube.pages(PODS, PodObject, namespace=namespace)
        return [pod.metadata.name or "" async for page in pages for pod in page.objects]

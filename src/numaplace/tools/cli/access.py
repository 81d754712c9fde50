"""Options that say which cluster is meant, shared by commands that talk to one."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from numaplace.adapters.kube import Access, Key, default_paths, existing, in_cluster, is_in_cluster, load_kubeconfig
from numaplace.adapters.kube.kubeconfig import context_names
from numaplace.model.errors import InputError


def access_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets `access`. InputError for a kubeconfig that is none."""

    @wraps(command)
    def reaching(*, kubeconfig: Path | None, context: str | None, **others: object) -> None:
        command(access=find_access(kubeconfig, context), **others)

    return with_access_options(reaching)


def _contexts(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The contexts of the kubeconfig that begin like this, for the shell."""
    named = ctx.params.get("kubeconfig")
    try:
        names = context_names(default_paths() if named is None else (Path(named),))
    except InputError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def with_access_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the bare options, for a command that may not need a cluster at all."""
    for option in reversed(
        (
            click.option(
                "--kubeconfig",
                type=click.Path(path_type=Path),
                help="Kubeconfig to use  [default: as kubectl; in a Pod without one its service account]",
            ),
            click.option(
                "--context", shell_complete=_contexts, help="Context of the kubeconfig  [default: its current one]"
            ),
        )
    ):
        command = option(command)
    return command


def find_access(kubeconfig: Path | None, context: str | None) -> Access:
    """How to reach the cluster that is meant, looked for as kubectl does.

    The options count first, then KUBECONFIG, then the file in the home folder, then the service account of the Pod.
    """
    paths = default_paths() if kubeconfig is None else (kubeconfig,)
    if kubeconfig is None and context is None and not existing(paths) and is_in_cluster():
        return in_cluster()
    return load_kubeconfig(paths, context or "")


def lease_key(text: str) -> Key:
    """The Lease that --lease names."""
    parts = text.split("/")
    if len(parts) != 2 or not all(parts):
        raise InputError("--lease", found=repr(text[:60]), wanted="NAMESPACE/NAME")
    return Key(*parts)

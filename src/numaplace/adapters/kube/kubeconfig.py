"""kubeconfig files into an `Access`: which server, what to trust, who we are.

Several files are merged as kubectl does it: of two entries with one name the first counts.
"""

import base64
import binascii
import os
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.credentials import Credential, Credentials, ExecPlugin, Fixed, TokenFile
from numaplace.model.errors import InputError
from numaplace.wire.strict import convert, shown
from numaplace.wire.yaml_text import load_documents

T = TypeVar("T")

_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class _Part(msgspec.Struct, rename="kebab"):
    """A part of a kubeconfig; fields that are not read are ignored."""


class _Cluster(_Part):
    server: str
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None


class _EnvVar(_Part):
    name: str
    value: str


class _Exec(msgspec.Struct, rename="camel"):
    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_EnvVar] | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: str | None = None


class _User(_Part):
    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    exec: _Exec | None = None
    auth_provider: Any = None
    username: str | None = None
    impersonated: str | None = msgspec.field(name="as", default=None)


class _Context(_Part):
    cluster: str
    user: str
    namespace: str | None = None


class _NamedCluster(_Part):
    name: str
    cluster: _Cluster


class _NamedUser(_Part):
    name: str
    user: _User | None = None


class _NamedContext(_Part):
    name: str
    context: _Context


class _File(_Part):
    current_context: str | None = None
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


def default_paths() -> tuple[Path, ...]:
    """The files of the variable KUBECONFIG, else the one in the home folder."""
    named = tuple(Path(path) for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path)
    return named or (Path(os.path.expanduser("~"), ".kube", "config"),)  # users of containers may have no home


def existing(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Those that are there; one that may not be looked at counts, so that reading it says why."""
    return tuple(path for path in paths if _is_there(path))


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def context_names(paths: tuple[Path, ...]) -> tuple[str, ...]:
    """The contexts of the merged files, in their order; InputError names a file that is none."""
    found = [one.name for path in existing(paths) for one in _read(path).contexts or ()]
    return tuple(dict.fromkeys(found))


def load_kubeconfig(paths: tuple[Path, ...], context: str = "") -> Access:
    """Access as `context` (the current one where none is named) of the merged files describes it.

    Files that do not exist are passed over, as kubectl does, but one must be there.
    InputError names the file and the field.
    """
    files = [(path, _read(path)) for path in existing(paths)]
    if not files:
        raise InputError(" and ".join(map(str, paths)), found="no file", wanted="a kubeconfig")
    where = str(files[0][0])
    name = context or next((file.current_context for _, file in files if file.current_context), "")
    if not name:
        raise InputError(f"{where}: current-context", found="nothing", wanted="the name of a context")
    contexts = [(path, one.name, one.context) for path, file in files for one in file.contexts or ()]
    clusters = [(path, one.name, one.cluster) for path, file in files for one in file.clusters or ()]
    users = [(path, one.name, one.user or _User()) for path, file in files for one in file.users or ()]
    _, chosen = _named(contexts, name, f"{where}: contexts")
    cluster_path, cluster = _named(clusters, chosen.cluster, f"{where}: clusters")
    user_path, user = _named(users, chosen.user, f"{where}: users")
    access = _server(cluster, cluster_path, f"{cluster_path}: cluster {chosen.cluster!r}")
    access.namespace = chosen.namespace or "default"
    access.credentials = _credentials(user, user_path, f"{user_path}: user {chosen.user!r}", access)
    return access


def _read(path: Path) -> _File:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise InputError(str(path), found=str(error), wanted="a readable kubeconfig") from error
    documents = load_documents(text, str(path))
    if len(documents) != 1:
        raise InputError(str(path), found=f"{len(documents)} documents", wanted="one kubeconfig")
    return convert(documents[0], _File, str(path))


def _named(things: list[tuple[Path, str, T]], name: str, where: str) -> tuple[Path, T]:
    for path, called, thing in things:
        if called == name:
            return path, thing
    known = ", ".join(sorted({called for _, called, _ in things})) or "some"
    raise InputError(where, found=f"none named {name!r}", wanted=f"one of those there are: {known}")


def _server(cluster: _Cluster, path: Path, where: str) -> Access:
    server = cluster.server.rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise InputError(f"{where}: server", found=shown(cluster.server), wanted="an address like https://host:6443")
    return Access(
        server=server,
        authorities=_bytes(
            cluster.certificate_authority_data, cluster.certificate_authority, path, f"{where}: certificate-authority"
        ),
        server_name=cluster.tls_server_name or None,
        verify=not cluster.insecure_skip_tls_verify,
        proxy=cluster.proxy_url or None,
    )


def _credentials(user: _User, path: Path, where: str, access: Access) -> Credentials:
    for field, used in (("auth-provider", user.auth_provider), ("username", user.username), ("as", user.impersonated)):
        if used:
            wanted = "a token, a tokenFile, a client certificate or an exec plugin"
            raise InputError(f"{where}: {field}", found="a way to log in that is not supported", wanted=wanted)
    if user.exec is not None:
        return _plugin(user.exec, path, f"{where}: exec", access)
    if user.token_file:
        return TokenFile(path.parent / user.token_file, time.monotonic)
    chain = _bytes(user.client_certificate_data, user.client_certificate, path, f"{where}: client-certificate")
    key = _bytes(user.client_key_data, user.client_key, path, f"{where}: client-key")
    if bool(chain) != bool(key):
        lacking = "client-key" if chain else "client-certificate"
        raise InputError(f"{where}: {lacking}", found="nothing", wanted="certificate and key together")
    return Fixed(Credential(user.token or "", (chain, key) if chain else None))


def _plugin(plugin: _Exec, path: Path, where: str, access: Access) -> ExecPlugin:
    if plugin.api_version not in _EXEC_VERSIONS:
        raise InputError(f"{where}: apiVersion", found=shown(plugin.api_version), wanted=" or ".join(_EXEC_VERSIONS))
    if plugin.interactive_mode == "Always":
        wanted = "IfAvailable or Never, since nobody sits at a service's terminal"
        raise InputError(f"{where}: interactiveMode", found="'Always'", wanted=wanted)
    # A relative path is relative to the file; a bare name is looked up on PATH.
    command = str(path.parent / plugin.command) if os.sep in plugin.command else plugin.command
    cluster: dict[str, object] = {"server": access.server, "insecure-skip-tls-verify": not access.verify}
    if access.authorities:
        cluster["certificate-authority-data"] = base64.b64encode(access.authorities).decode()
    if access.server_name:
        cluster["tls-server-name"] = access.server_name
    return ExecPlugin(
        command=(command, *(plugin.args or ())),
        api_version=plugin.api_version,
        env={one.name: one.value for one in plugin.env or ()},
        cluster=cluster if plugin.provide_cluster_info else None,
        hint=plugin.install_hint or "",
    )


def _bytes(encoded: str | None, file: str | None, path: Path, where: str) -> bytes:
    """What stands in the field itself, else in the file it names; nothing where neither is there."""
    if encoded:
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InputError(f"{where}-data", found=shown(encoded), wanted="base64") from error
    if not file:
        return b""
    try:
        return (path.parent / file).read_bytes()
    except OSError as error:
        raise InputError(where, found=str(error), wanted="a readable PEM file") from error

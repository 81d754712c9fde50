"""kubeconfig files, exec plugins and the mount of a Pod become access, or a sentence that names the field."""

import base64
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numaplace.adapters.kube import UntrustedError, default_paths, in_cluster, load_kubeconfig
from numaplace.adapters.kube.credentials import Credential, ExecPlugin, TokenFile
from numaplace.model.errors import InputError

V1 = "client.authentication.k8s.io/v1"


def config(user: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "there",
        "contexts": [{"name": "there", "context": {"cluster": "c", "user": "u", "namespace": "mine"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }


def written(folder: Path, content: dict[str, Any], name: str = "config") -> Path:
    path = folder / name
    path.write_bytes(msgspec.json.encode(content))
    return path


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


async def test_a_token_and_an_authority_written_out(tmp_path: Path) -> None:
    path = written(tmp_path, config({"token": "secret"}, **{"certificate-authority-data": encoded(b"PEM")}))
    access = load_kubeconfig((path,))
    assert (access.server, access.namespace, access.authorities) == ("https://10.0.0.1:6443", "mine", b"PEM")
    assert await access.credentials.current() == Credential("secret")


async def test_files_are_looked_for_beside_the_kubeconfig(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").write_text(name)
    user = {"client-certificate": "cert.pem", "client-key": "key.pem"}
    path = written(tmp_path, config(user, **{"certificate-authority": "ca.pem", "tls-server-name": "kubernetes"}))
    access = load_kubeconfig((path,))
    assert (access.authorities, access.server_name) == (b"ca", "kubernetes")
    assert await access.credentials.current() == Credential(certificate=(b"cert", b"key"))


async def test_of_two_files_the_first_that_says_something_counts(tmp_path: Path) -> None:
    first = written(tmp_path, {"users": [{"name": "u", "user": {"token": "first"}}]}, "first")
    second = written(tmp_path, config({"token": "second"}), "second")
    access = load_kubeconfig((tmp_path / "missing", first, second))
    assert access.server == "https://10.0.0.1:6443"
    assert await access.credentials.current() == Credential("first")


def test_the_variable_names_several_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(("a", "b")))
    assert default_paths() == (Path("a"), Path("b"))
    monkeypatch.delenv("KUBECONFIG")
    assert default_paths() == (Path.home() / ".kube" / "config",)


@pytest.mark.parametrize(
    ("user", "cluster", "complaint"),
    [
        ({"auth-provider": {"name": "gcp"}}, {}, r"user 'u': auth-provider: found a way to log in"),
        ({"username": "me", "password": "x"}, {}, r"user 'u': username: found a way to log in"),
        ({"token": "x", "as": "root"}, {}, r"user 'u': as: found a way to log in"),
        ({"client-certificate-data": encoded(b"x")}, {}, r"client-key: found nothing; expected certificate and key"),
        ({"client-key-data": "?"}, {}, r"client-key-data: found '\?'; expected base64"),
        ({"client-certificate": "missing.pem"}, {}, r"client-certificate: found .*No such file"),
        ({"token": 7}, {}, r"users\[0\].user.token: found the number 7; expected text"),
        ({}, {"server": "10.0.0.1"}, r"cluster 'c': server: found '10.0.0.1'; expected an address like https"),
        ({"exec": {"command": "x", "apiVersion": "v9"}}, {}, r"exec: apiVersion: found 'v9'; expected client.auth"),
        (
            {"exec": {"command": "x", "apiVersion": V1, "interactiveMode": "Always"}},
            {},
            r"exec: interactiveMode: found 'Always'; expected IfAvailable or Never",
        ),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        load_kubeconfig((written(tmp_path, config(user, **cluster)),))


def test_a_context_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none named 'elsewhere'; expected one of those there are: there"):
        load_kubeconfig((written(tmp_path, config({})),), context="elsewhere")


def test_no_file_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no file; expected a kubeconfig"):
        load_kubeconfig((tmp_path / "config",))


# --- tokens in files


async def test_a_token_file_is_read_again_after_a_minute_or_a_refusal(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "token"
    path.write_text("one\n")
    tokens = TokenFile(path, lambda: now)
    assert await tokens.current() == Credential("one")
    path.write_text("two")
    now = 59.0
    assert await tokens.current() == Credential("one")
    now = 60.0
    assert await tokens.current() == Credential("two")
    path.write_text("three")
    tokens.refused(Credential())
    assert await tokens.current() == Credential("three")
    path.write_text("")
    tokens.refused(Credential())
    with pytest.raises(UntrustedError, match="found an empty file"):
        await tokens.current()


async def test_inside_a_pod_the_mount_says_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("ca.crt", "PEM"), ("namespace", "kube-system\n"), ("token", "secret")):
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    access = in_cluster(tmp_path)
    assert (access.server, access.namespace, access.authorities) == ("https://[fd00::1]:443", "kube-system", b"PEM")
    assert await access.credentials.current() == Credential("secret")
    with pytest.raises(InputError, match="the mount of a service account"):
        in_cluster(tmp_path / "missing")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(InputError, match="the address that Pods are given"):
        in_cluster(tmp_path)


# --- exec plugins


def plugin(folder: Path, script: str) -> str:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\necho run >>{folder}/runs\n{script}\n")
    path.chmod(0o755)
    return "./plugin"


def printed(**status: str) -> str:
    answer = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
    return f"echo '{msgspec.json.encode(answer).decode()}'"


def asked(folder: Path, script: str, **fields: Any) -> ExecPlugin:
    program = {"command": plugin(folder, script), "apiVersion": V1, **fields}
    credentials = load_kubeconfig((written(folder, config({"exec": program})),)).credentials
    assert isinstance(credentials, ExecPlugin)
    return credentials


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


async def test_a_plugin_is_asked_once_while_its_answer_is_good(tmp_path: Path) -> None:
    credentials = asked(tmp_path, printed(token="secret", expirationTimestamp="2027-01-01T00:00:00Z"))
    credentials.clock = lambda: 1_798_761_500.0  # 2026-12-31T23:58:20Z
    for _ in range(3):
        assert await credentials.current() == Credential("secret")
    assert runs(tmp_path) == 1
    credentials.clock = lambda: 1_798_761_580.0  # 20 s before the end
    await credentials.current()
    assert runs(tmp_path) == 2
    credentials.clock = lambda: 1_798_761_500.0
    old = await credentials.current()
    credentials.refused(old)
    await credentials.current()
    assert runs(tmp_path) == 3
    credentials.refused(old)  # by another request that had the old one
    await credentials.current()
    assert runs(tmp_path) == 3


async def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    credentials = asked(tmp_path, printed(clientCertificateData="cert", clientKeyData="key"))
    assert await credentials.current() == Credential(certificate=(b"cert", b"key"))


async def test_a_plugin_gets_its_arguments_environment_and_cluster(tmp_path: Path) -> None:
    script = f'echo "$1 $COLOUR" >{tmp_path}/got; echo "$KUBERNETES_EXEC_INFO" >{tmp_path}/info; ' + printed(token="t")
    environment = [{"name": "COLOUR", "value": "green"}]
    await asked(tmp_path, script, args=["--login"], env=environment, provideClusterInfo=True).current()
    assert (tmp_path / "got").read_text() == "--login green\n"
    info = msgspec.json.decode((tmp_path / "info").read_bytes())
    assert (info["apiVersion"], info["spec"]["interactive"]) == (V1, False)
    assert info["spec"]["cluster"]["server"] == "https://10.0.0.1:6443"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo 'log in first' >&2; exit 3", r"ended with status 3 \(log in first\)"),
        ("echo nonsense", "found no ExecCredential in its output"),
        (printed(), "found neither a token nor a certificate"),
        (printed(token="x").replace("/v1", "/v1beta1"), "found client.authentication.k8s.io/v1beta1; expected"),
    ],
)
async def test_a_plugin_that_fails_is_told(tmp_path: Path, script: str, complaint: str) -> None:
    with pytest.raises(UntrustedError, match=complaint):
        await asked(tmp_path, script).current()


async def test_a_plugin_that_is_missing_says_what_its_author_says(tmp_path: Path) -> None:
    credentials = asked(tmp_path, "", installHint="Install the login tool.")
    (tmp_path / "plugin").unlink()
    with pytest.raises(UntrustedError, match=r"cannot be run .*Install the login tool"):
        await credentials.current()

"""Who we are to an API server: fixed credentials, token files that rotate, exec plugins.

`transport` asks before each request and says when the server refused what it got;
reading a file or running a plugin happens only when what is known has aged.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from numaplace.adapters.kube.errors import UntrustedError

_API = "client.authentication.k8s.io"
_FRESH_S = 60.0  # the kubelet renews projected tokens at 80 % of their life; client-go reads them each minute too
_MARGIN_S = 30.0  # a credential is renewed this long before it expires
_PLUGIN_S = 60.0


@dataclass(frozen=True, slots=True, repr=False)
class Credential:
    """What proves who we are; both fields may be there, or none (anonymous)."""

    token: str = ""
    certificate: tuple[bytes, bytes] | None = None  # PEM of the chain and of its key


class Credentials(Protocol):
    """A source of credentials."""

    async def current(self) -> Credential:
        """The credential to use now; UntrustedError when there is none."""

    def refused(self, credential: Credential) -> None:
        """The server answered 401 to this one: it is not given again if there is a way to renew it."""


@dataclass(slots=True)
class Fixed:
    """Always the same; for client certificates and tokens written out."""

    credential: Credential

    async def current(self) -> Credential:
        """The one there is."""
        return self.credential

    def refused(self, credential: Credential) -> None:
        """There is no other."""


@dataclass(slots=True)
class TokenFile:
    """A token that somebody else renews on disk, like the kubelet does for service accounts."""

    path: Path
    clock: Callable[[], float]  # seconds, steady
    _credential: Credential = field(default_factory=Credential)
    _read_s: float = float("-inf")

    async def current(self) -> Credential:
        """What the file holds, read at most once a minute."""
        if self.clock() - self._read_s >= _FRESH_S:
            try:
                token = self.path.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeError) as error:
                raise UntrustedError(f"{self.path}: the token cannot be read ({error})") from error
            if not token:
                raise UntrustedError(f"{self.path}: found an empty file; expected a token")
            self._credential, self._read_s = Credential(token), self.clock()
        return self._credential

    def refused(self, credential: Credential) -> None:
        """Read the file again next time."""
        self._read_s = float("-inf")


class _Given(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    status: _Given | None = None


@dataclass(slots=True)
class ExecPlugin:
    """A program that prints an ExecCredential; it runs without a terminal, and again when its answer expires."""

    command: Sequence[str]
    api_version: str  # client.authentication.k8s.io/v1 or /v1beta1; the answer must have the same
    env: Mapping[str, str] = field(default_factory=dict)
    cluster: Mapping[str, object] | None = None  # for plugins that ask which cluster it is for
    hint: str = ""  # what to say where the program is missing
    clock: Callable[[], float] = lambda: datetime.now(UTC).timestamp()  # the plugin's expiry is wall time
    _credential: Credential | None = None
    _expires_s: float = float("inf")
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def current(self) -> Credential:
        """The plugin's last answer while it is good; one run serves all who wait."""
        async with self._one:
            if self._credential is None or self.clock() > self._expires_s - _MARGIN_S:
                self._credential, self._expires_s = await self._ask()
            return self._credential

    def refused(self, credential: Credential) -> None:
        """Ask the plugin again next time, unless it has been asked since: many requests are refused at once."""
        if self._credential is credential:
            self._credential = None

    async def _ask(self) -> tuple[Credential, float]:
        answer = await self._run()
        try:
            said = msgspec.json.decode(answer, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise UntrustedError(f"{self.command[0]}: found no ExecCredential in its output ({error})") from error
        if said.api_version != self.api_version:
            raise UntrustedError(f"{self.command[0]}: found {said.api_version}; expected {self.api_version}")
        given = said.status or _Given()
        if not given.token and not (given.client_certificate_data and given.client_key_data):
            raise UntrustedError(f"{self.command[0]}: found neither a token nor a certificate with its key")
        certificate = None
        if given.client_certificate_data and given.client_key_data:
            certificate = (given.client_certificate_data.encode(), given.client_key_data.encode())
        expires = given.expiration_timestamp
        return Credential(given.token or "", certificate), expires.timestamp() if expires else float("inf")

    async def _run(self) -> bytes:
        spec: dict[str, object] = {"interactive": False, **({"cluster": self.cluster} if self.cluster else {})}
        asked = msgspec.json.encode({"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec})
        env = {**os.environ, **self.env, "KUBERNETES_EXEC_INFO": asked.decode()}
        quiet = asyncio.subprocess.DEVNULL
        try:
            plugin = await asyncio.create_subprocess_exec(
                *self.command, env=env, stdin=quiet, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
        except OSError as error:
            raise UntrustedError(f"{self.command[0]}: cannot be run ({error.strerror}). {self.hint}".strip()) from error
        try:
            async with asyncio.timeout(_PLUGIN_S):
                answer, complaint = await plugin.communicate()
        except TimeoutError as error:
            raise UntrustedError(f"{self.command[0]}: gave no answer within {_PLUGIN_S:.0f} s") from error
        finally:
            if plugin.returncode is None:
                plugin.kill()
                await plugin.wait()
        if plugin.returncode != 0:
            words = complaint[-300:].decode("utf-8", "replace").strip()
            raise UntrustedError(f"{self.command[0]}: ended with status {plugin.returncode} ({words})")
        return answer

"""How to reach one API server and prove who we are: the answer of `kubeconfig` and `in_cluster`."""

import os
import ssl
import tempfile
from dataclasses import dataclass, field

from numaplace.adapters.kube.credentials import Credential, Credentials, Fixed
from numaplace.adapters.kube.errors import UntrustedError


@dataclass(slots=True)
class Access:
    """One server, whom it must prove to be, and our credentials."""

    server: str  # like https://10.0.0.1:6443, without a slash at the end
    credentials: Credentials = field(default_factory=lambda: Fixed(Credential()))
    namespace: str = "default"
    authorities: bytes = b""  # PEM of the certificates to trust; empty: those of the system
    server_name: str | None = None  # the name its certificate must carry, where that is not its address
    verify: bool = True
    proxy: str | None = None
    _context: tuple[tuple[bytes, bytes] | None, ssl.SSLContext] | None = None

    def tls(self, credential: Credential) -> ssl.SSLContext:
        """The TLS settings for this credential; the last ones are kept, since making them reads all authorities."""
        if self._context is None or self._context[0] != credential.certificate:
            self._context = (credential.certificate, self._new_context(credential))
        return self._context[1]

    def _new_context(self, credential: Credential) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cadata=self.authorities.decode("ascii") or None)
            if not self.verify:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if credential.certificate:
                _present(context, *credential.certificate)
        except (ssl.SSLError, ValueError) as error:
            raise UntrustedError(f"{self.server}: the certificates cannot be used ({error})") from error
        return context


def _present(context: ssl.SSLContext, chain: bytes, key: bytes) -> None:
    """Load a client certificate; ssl takes files only, so one is there for as long as that needs, readable by us."""
    with tempfile.NamedTemporaryFile() as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(chain + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)

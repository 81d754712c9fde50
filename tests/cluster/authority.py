"""The certificates of one control plane: an authority of its own, servers and clients."""

from dataclasses import dataclass, field
from pathlib import Path

import trustme

from numaplace.adapters.kube.credentials import Credential

_NO_HOST = "client.invalid"  # without any name, the empty list of them is an extension that Go refuses


@dataclass(slots=True)
class Authority:
    """Issues certificates and writes them where programs look for them."""

    folder: Path
    ca: trustme.CA = field(default_factory=trustme.CA)

    @property
    def certificate(self) -> Path:
        """The file with the authority's own certificate."""
        path = self.folder / "ca.pem"
        if not path.exists():
            self.ca.cert_pem.write_to_path(path)
        return path

    def server(self, name: str, *hosts: str) -> tuple[Path, Path]:
        """Files of a certificate for `hosts` and its key; it may be shown as a client's too."""
        return self._write(name, self.ca.issue_cert(*hosts, common_name=name))

    def client(self, user: str, group: str | None = None) -> Credential:
        """Proves to the API server that one is `user`, in `group`."""
        leaf = self.ca.issue_cert(_NO_HOST, common_name=user, organization_name=group)
        chain = b"".join(pem.bytes() for pem in leaf.cert_chain_pems)
        return Credential(certificate=(chain, leaf.private_key_pem.bytes()))

    def key(self, name: str) -> Path:
        """A private key to sign with."""
        return self._write(name, self.ca.issue_cert(_NO_HOST, common_name=name))[1]

    def _write(self, name: str, leaf: trustme.LeafCert) -> tuple[Path, Path]:
        chain, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        chain.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
        key.write_bytes(leaf.private_key_pem.bytes())
        key.chmod(0o600)
        return chain, key

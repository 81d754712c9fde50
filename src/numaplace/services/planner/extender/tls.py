"""TLS of the extender face: certificates from files, read again when they are replaced."""

import logging
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from numaplace.model.errors import InputError

_LOG = logging.getLogger(__name__)

Seen = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: our certificate chain and its key, and who may ask (everybody where that is None)."""

    certificate: Path
    key: Path
    client_authorities: Path | None = None

    def serving(self) -> ssl.SSLContext:
        """For those who ask us; InputError when a file cannot be used."""
        context = self._loaded(ssl.create_default_context(ssl.Purpose.CLIENT_AUTH))
        if self.client_authorities is not None:
            self._trust(context, self.client_authorities)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def asking(self) -> ssl.SSLContext:
        """For us, who ask another planner that has the same files: it must show what we could show ourselves.

        Planners know each other by address, which no certificate names.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        self._trust(context, self.certificate)
        if self.client_authorities is not None:
            self._trust(context, self.client_authorities)
        return self._loaded(context)

    def seen(self) -> Seen:
        """What tells one version of the files from the next."""
        found = []
        for path in filter(None, (self.certificate, self.key, self.client_authorities)):
            try:
                stat = os.stat(path)
                found.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
            except OSError:
                found.append((0, 0, 0))  # a moment of an exchange, or gone
        return tuple(found)

    def _loaded(self, context: ssl.SSLContext) -> ssl.SSLContext:
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            wanted = "a certificate chain and the key that belongs to it, as PEM"
            raise InputError(f"{self.certificate} with {self.key}", found=str(error), wanted=wanted) from error
        return context

    def _trust(self, context: ssl.SSLContext, path: Path) -> None:
        try:
            context.load_verify_locations(path)
        except (OSError, ssl.SSLError) as error:
            raise InputError(str(path), found=str(error), wanted="certificates as PEM") from error


class Rotation:
    """Notices that files were replaced; what cannot be used is logged, and what was good before stays in use."""

    def __init__(self, files: TlsFiles) -> None:
        self._files, self._seen = files, files.seen()

    def renewed(self) -> ssl.SSLContext | None:
        """The context of new files, once for each change."""
        seen = self._files.seen()
        if seen == self._seen:
            return None
        self._seen = seen
        try:
            context = self._files.serving()
        except InputError as error:
            _LOG.warning("certificates of the extender face were not renewed", extra={"error": str(error)})
            return None
        _LOG.info("certificates of the extender face were renewed")
        return context

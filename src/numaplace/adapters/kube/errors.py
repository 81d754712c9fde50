"""What can go wrong between us and an API server, as few kinds as a caller can act on.

`transport` translates the library's errors and the server's Status objects into these.
"""

from typing import ClassVar

import msgspec

from numaplace.model.errors import NumaplaceError


class KubeError(NumaplaceError):
    """Anything that an API server, or the way to it, answered other than yes."""


class UnreachableError(KubeError):
    """The request did not leave this machine: nothing has happened, it may be sent again."""


class AnswerLostError(KubeError):
    """The request was sent and no answer came: a write may or may not have happened. Read before writing again."""


class UntrustedError(KubeError):
    """The server's certificate, or our own, is not accepted; trying again does not help."""


class StatusError(KubeError):
    """The server said no, with an HTTP status, a reason of its own vocabulary and a message."""

    codes: ClassVar[tuple[int, ...]] = ()

    def __init__(self, asked: str, code: int, reason: str, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"{asked}: {message or reason or 'no message'} (HTTP {code}{', ' + reason if reason else ''})")
        self.code, self.reason, self.message, self.retry_after_s = code, reason, message, retry_after_s


class NotFoundError(StatusError):
    """No such object, or no such resource."""

    codes = (404,)


class ConflictError(StatusError):
    """Somebody else was faster: the object exists already, changed since, or a precondition fails."""

    codes = (409,)


class ExpiredError(StatusError):
    """The version asked for is older than what the server remembers: list anew."""

    codes = (410,)


class InvalidError(StatusError):
    """The object or the change breaks a rule of the API or of an admission policy."""

    codes = (400, 422)


class DeniedError(StatusError):
    """Our identity is unknown to the server, or may not do that."""

    codes = (401, 403)


class BusyError(StatusError):
    """The server cannot answer now: 429 (nothing was done) or 5xx (a write may have been done)."""

    codes = (429, 500, 502, 503, 504)


_KINDS = {code: kind for kind in StatusError.__subclasses__() for code in kind.codes}


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int | None = None


class _Status(msgspec.Struct):
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


def status_error(asked: str, code: int, body: bytes, retry_after: str = "") -> StatusError:
    """The error in a response: `body` is a Status object, or any text where a proxy answered instead.

    `code` 0 means that the Status itself tells it (errors inside a watch).
    """
    try:
        said = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, UnicodeError):
        said = _Status(message=body[:300].decode("utf-8", "replace").strip())
    code = code or said.code or 500
    after = float(retry_after) if retry_after.isdigit() else None
    if after is None and said.details is not None:
        after = said.details.retry_after_seconds
    kind = _KINDS.get(code, BusyError if code >= 500 else StatusError)
    return kind(asked, code, said.reason or "", said.message or "", after)

"""How the fake says no: with the status, the reason and the wording of the real API server."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class RefusalError(Exception):
    """A Status that is no success."""

    code: int
    reason: str
    message: str
    details: dict[str, Any] = field(default_factory=dict)

    def status(self) -> dict[str, Any]:
        """As the API server writes it."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }


def not_found(plural: str, name: str) -> RefusalError:
    """There is no such object."""
    return RefusalError(404, "NotFound", f'{plural} "{name}" not found')


def exists(plural: str, name: str) -> RefusalError:
    """The name is taken."""
    return RefusalError(409, "AlreadyExists", f'{plural} "{name}" already exists')


def conflict(plural: str, name: str, why: str) -> RefusalError:
    """A precondition fails."""
    return RefusalError(409, "Conflict", f'Operation cannot be fulfilled on {plural} "{name}": {why}')


def modified(plural: str, name: str) -> RefusalError:
    """Somebody else was faster."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(plural, name, why)


def invalid(kind: str, name: str, why: str) -> RefusalError:
    """The object breaks a rule."""
    return RefusalError(422, "Invalid", f'{kind} "{name}" is invalid: {why}')


def expired(why: str) -> RefusalError:
    """The version is forgotten."""
    return RefusalError(410, "Expired", why)

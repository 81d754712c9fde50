"""What the audited users of a control plane asked of it, in the order in which it was answered."""

from typing import Any

import msgspec

from tests.cluster.control_plane import ControlPlane

_EXTRA = "authentication.kubernetes.io"


class Asked(msgspec.Struct, rename="camel"):
    """One line of the audit log."""

    verb: str
    user: dict[str, Any]
    object_ref: dict[str, Any] = {}
    response_status: dict[str, Any] = {}

    @property
    def granted(self) -> bool:
        return int(self.response_status.get("code", 0)) < 300

    @property
    def pod(self) -> str:
        """The Pod whose token was shown."""
        return self._extra("pod-name")

    @property
    def token(self) -> str:
        """The id of the token that was shown."""
        return self._extra("credential-id")

    def _extra(self, name: str) -> str:
        (value,) = self.user.get("extra", {}).get(f"{_EXTRA}/{name}", [""])
        return str(value)


def asked(plane: ControlPlane) -> list[Asked]:
    """All there is by now."""
    lines = plane.audit_log.read_bytes().splitlines(keepends=True)
    return [msgspec.json.decode(line, type=Asked) for line in lines if line.endswith(b"\n")]

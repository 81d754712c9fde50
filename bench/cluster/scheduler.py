"""How the scheduler's own time is spent: the sums of its metrics."""

import http.client
import re
import ssl

from tests.cluster.control_plane import SCHEDULER, ControlPlane

_SAMPLES = {
    "filter": re.compile(
        r'^scheduler_framework_extension_point_duration_seconds_(sum|count)\{extension_point="Filter",.*\} (\S+)$', re.M
    ),
    "bind": re.compile(
        r'^scheduler_framework_extension_point_duration_seconds_(sum|count)\{extension_point="Bind",.*\} (\S+)$', re.M
    ),
    "attempt": re.compile(
        r'^scheduler_scheduling_attempt_duration_seconds_(sum|count)\{.*result="scheduled".*\} (\S+)$', re.M
    ),
}


def scheduler_steps(plane: ControlPlane) -> dict[str, tuple[int, float]]:
    """How often each step was done since the scheduler started, and how many seconds that took altogether."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # its certificate is its own
    connection = http.client.HTTPSConnection("127.0.0.1", plane.ports[SCHEDULER], timeout=10, context=context)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    return {name: _sums(sample.findall(text)) for name, sample in _SAMPLES.items()}


def _sums(samples: list[tuple[str, str]]) -> tuple[int, float]:
    of = {kind: sum(float(value) for one, value in samples if one == kind) for kind in ("count", "sum")}
    return int(of["count"]), of["sum"]

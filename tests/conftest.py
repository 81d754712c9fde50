"""What every test may use: recorded data, how hard hypothesis tries, and the list of lanes left out.

`NUMAPLACE_HYPOTHESIS` chooses the effort: `dev` explores anew on every run, `ci` tries the same examples
each time (so that a red run is explained by a change), `deep` searches for hours.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.recorded import MISSING, find_shared_data, require_shared_data

# A shared machine is slow at times; that is no defect of the code under test.
settings.register_profile("dev", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None)
settings.register_profile("deep", settings.get_profile("dev"), max_examples=20_000)
settings.load_profile(os.environ.get("NUMAPLACE_HYPOTHESIS") or ("ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data recorded on real machines; the test is skipped where it is missing."""
    return require_shared_data()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which lanes this run left out, so that a green line is not taken for more than it is."""
    left_out = [] if find_shared_data() is not None else [f"machines: {MISSING}"]
    for folder, what in (
        ("chart", "chart: make test-chart runs it, with helm"),
        ("cluster", "control plane: make test-cluster runs it, with a real API server and scheduler"),
    ):
        if not any(f"tests/{folder}" in argument for argument in terminalreporter.config.args):
            left_out.append(what)
    if left_out:
        terminalreporter.section("lanes left out")
        for line in left_out:
            terminalreporter.line(line)

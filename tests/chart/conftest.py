"""The lane needs helm; one sentence says why it cannot run."""

from pathlib import Path

import pytest

from tests.chart.programs import find_tools
from tests.cluster.build import LaneError


@pytest.fixture(scope="session", autouse=True)
def tools() -> Path:
    """The folder of helm and kubectl."""
    try:
        return find_tools()
    except LaneError as error:
        pytest.exit(f"the chart lane cannot run: {error}", returncode=1)

"""The planner may do what it does, and nothing else: its rights in the chart beside what it asked of the API server.

Runs last: `conftest.py` sees to it. The rights that nobody used in the whole lane are too many.
"""

from typing import NamedTuple

import pytest

from tests.chart.rendered import named, things
from tests.cluster.audit import Asked, asked
from tests.cluster.chart import VALUES
from tests.cluster.control_plane import ControlPlane
from tests.cluster.planner_process import PLANNER


class Right(NamedTuple):
    """A verb on a resource; its subresource, if any, after a slash."""

    group: str
    resource: str
    verb: str


@pytest.fixture
def of_planner(plane: ControlPlane, request: pytest.FixtureRequest) -> list[Asked]:
    ran = {item.path.name for item in request.session.items}
    if not {"test_planner.py", "test_writers_policy.py"} <= ran:
        if request.config.getoption("lf"):
            pytest.fail("it failed in a run of the whole lane, and only another such run can do better")
        pytest.skip("only a run of the whole lane lets the planner do everything")
    return [one for one in asked(plane) if one.user["username"] == PLANNER]


def right(one: Asked) -> Right:
    ref = one.object_ref
    resource = ref.get("resource", "") + (f"/{ref['subresource']}" if "subresource" in ref else "")
    return Right(ref.get("apiGroup", ""), resource, one.verb)


def granted() -> set[Right]:
    chart = things(values=VALUES)
    rules = [rule for kind in ("ClusterRole", "Role") for rule in named(chart, kind, "numaplace-planner")["rules"]]
    return {
        Right(group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_every_right_of_the_planner_was_used_and_none_was_missing(
    of_planner: list[Asked], request: pytest.FixtureRequest
) -> None:
    used = {right(one) for one in of_planner if one.granted}
    missing = {right(one) for one in of_planner if one.response_status.get("code") == 403} - granted()
    # A test that failed may be the one that needs a right.
    unused = set() if request.session.testsfailed else granted() - used
    assert (unused, missing) == (set(), set())


def test_nothing_is_granted_by_a_star() -> None:
    assert not [one for one in granted() if "*" in one]

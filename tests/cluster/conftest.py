"""One control plane for the whole session; each test has a namespace and an identity of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from numaplace.adapters.kube import ConflictError, Key, Kube, NotFoundError
from numaplace.adapters.kube.resources import CONFIG_MAPS, LEASES, NAMESPACES, PRIORITY_CLASSES, Resource
from tests.cluster.build import LaneError
from tests.cluster.chart import install
from tests.cluster.control_plane import ControlPlane
from tests.cluster.crds import create_crds
from tests.cluster.identities import CONTRACT, CONTRACT_RULES, SERVICE_ACCOUNTS, grant
from tests.cluster.planner_process import LEASE_KEY, PLANNER, PlannerProcess
from tests.cluster.random_pods import CLASSES
from tests.cluster.stage import Stage, gone
from tests.cluster.writers import pods_at_all_stages
from tests.services.planner.reader import double_grants

pytest.register_assert_rewrite("tests.adapters.kube.contract")

_APPEARS_S = 30.0


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """The control plane, with the chart installed."""
    try:
        with ControlPlane(audited=[PLANNER]) as plane:
            asyncio.run(_set_up(plane))
            yield plane
    except LaneError as error:
        pytest.exit(f"the control plane lane cannot run: {error}", returncode=1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What the planner asked for is told when all others have let it ask."""
    items.sort(key=lambda item: "test_rights.py" in item.nodeid)


async def _set_up(plane: ControlPlane) -> None:
    async with Kube(plane.admin()) as admin:
        await create_crds(admin)
        await install(plane, admin)
        await grant(admin, CONTRACT, CONTRACT_RULES)


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncIterator[Kube]:
    """Sets up what a test needs; what is tested has an identity that may do less."""
    async with Kube(plane.admin()) as admin:
        yield admin


@pytest.fixture
async def kube(plane: ControlPlane) -> AsyncIterator[Kube]:
    """A client that may do what the contract needs."""
    async with Kube(plane.access(CONTRACT)) as kube:
        yield kube


@pytest.fixture
async def space(admin: Kube) -> AsyncIterator[str]:
    """A new namespace, with what the controllers put into each."""
    made = msgspec.json.decode(await admin.create(NAMESPACES, {"metadata": {"generateName": "test-"}}))
    name: str = made["metadata"]["name"]
    await _appears(admin, SERVICE_ACCOUNTS, "default", name)
    await _appears(admin, CONFIG_MAPS, "kube-root-ca.crt", name)
    yield name
    await admin.delete(NAMESPACES, name)


@pytest.fixture
async def stage(admin: Kube, space: str) -> AsyncIterator[Stage]:
    stage = Stage(admin, space)
    yield stage
    pods = await stage.pods()
    await stage.clear()
    await gone(admin, LEASES, LEASE_KEY)  # nobody need wait until it is over
    assert double_grants(pods) == []


@pytest.fixture
def planner(plane: ControlPlane, stage: Stage) -> Iterator[PlannerProcess]:
    assert stage.space  # the planner's rights are there
    with PlannerProcess(plane) as planner:
        yield planner


@pytest.fixture
async def classes(admin: Kube) -> AsyncIterator[None]:
    """The PriorityClasses `CLASSES`."""
    for name, value in CLASSES.items():
        try:
            await admin.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        except ConflictError:
            continue
    yield
    for name in CLASSES:
        await gone(admin, PRIORITY_CLASSES, Key("", name))


async def _appears(admin: Kube, resource: Resource, name: str, namespace: str) -> None:
    async with asyncio.timeout(_APPEARS_S):
        while True:
            try:
                await admin.get(resource, name, namespace)
            except NotFoundError:
                await asyncio.sleep(0.05)
            else:
                return


@pytest.fixture
async def pods(admin: Kube, plane: ControlPlane, space: str) -> AsyncIterator[str]:
    """A namespace with Pods at all stages: `p`, `planned`, `free` and `bound` of `writers.py`."""
    async with pods_at_all_stages(admin, plane, space) as made:
        yield made

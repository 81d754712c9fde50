"""Whatever dies, hangs or lies: nothing is given twice, and nobody is lost or stuck."""

import os
import random

import pytest

from numaplace.adapters.kube import Key, Kube
from numaplace.adapters.kube.resources import LEASES
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import Rule, granted
from tests.cluster.nodes import alike
from tests.cluster.planner_process import LEASE_KEY, PLANNER, PlannerProcess
from tests.cluster.random_pods import CLASSES
from tests.cluster.rounds import rounds
from tests.cluster.stage import Stage, gated, gone
from tests.services.planner.reader import double_grants, misplaced

ROUNDS = int(os.environ.get("NUMAPLACE_ROUNDS", "40"))
SEED = int(os.environ.get("NUMAPLACE_SEED", "1"))

# More rights than the chart gives a planner that no scheduler asks, and that has one Lease.
BINDS = (Rule("", ("pods/binding",), ("create",)),)
ANY_LEASE = (Rule("coordination.k8s.io", ("leases",), ("get", "create", "update")),)


@pytest.mark.usefixtures("classes")
@pytest.mark.timeout(120 + 60 * ROUNDS)
async def test_rounds_of_trouble_leave_everyone_with_a_place_of_his_own(
    plane: ControlPlane, admin: Kube, stage: Stage
) -> None:
    async with granted(admin, PLANNER, BINDS), rounds(plane, stage, SEED) as trouble:
        for _ in range(ROUNDS):
            await trouble.round()
    assert trouble.number == ROUNDS
    print(f"seed {SEED}: {trouble.summary()}")


@pytest.mark.usefixtures("classes")
async def test_two_planners_that_both_lead_end_with_everyone_having_something_of_his_own(
    plane: ControlPlane, admin: Kube, stage: Stage
) -> None:
    """Each has a Lease of its own, and one is slow, so that they decide in other orders."""
    await stage.nodes(alike(4))
    draw = random.Random(SEED)
    names = [f"p{i}" for i in range(24)]
    second = ("--lease", f"{LEASE_KEY.namespace}/second", "--outstanding", "1")
    async with granted(admin, PLANNER, ANY_LEASE):
        with PlannerProcess(plane, "one"), PlannerProcess(plane, "two", *second):
            for name in names:
                priority = draw.choice([*CLASSES])
                await stage.add(gated(name, gpus=1, cpus=draw.choice((4, 8)), priorityClassName=priority))
            await stage.until_bound(*names)
            pods = await stage.until(lambda pods: not double_grants(pods) and not misplaced(pods))
            assert {pod["metadata"]["name"] for pod in pods} == set(names)
    await gone(admin, LEASES, Key(LEASE_KEY.namespace, "second"))

"""Who may take our gate from a Pod, and what may not be changed afterwards."""

import asyncio
from typing import Any

import msgspec
import pytest

from numaplace.adapters.kube import (
    DeniedError,
    InvalidError,
    Key,
    Kube,
    Resource,
    json_patch,
    merge,
    strategic,
)
from numaplace.adapters.kube.resources import PODS
from numaplace.model import keys
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import identity
from tests.cluster.planner_process import PLANNER
from tests.cluster.stage import GATE, gone
from tests.cluster.writers import (
    ANYTHING,
    FOREIGN,
    pod,
)
from tests.objects import OURS

ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")


async def lift(kube: Kube, space: str, name: str = "p") -> list[dict[str, str]]:
    """Take our gate away; the gates that are left."""
    change = strategic({"spec": {"schedulingGates": [{"$patch": "delete", "name": keys.PLAN_GATE}]}})
    found: dict[str, Any] = msgspec.json.decode(await kube.patch(PODS, name, change, space))
    return found["spec"].get("schedulingGates") or []


async def test_nobody_else_lifts_our_gate(plane: ControlPlane, pods: str) -> None:
    async with Kube(await identity(plane, "somebody", ANYTHING)) as somebody:
        with pytest.raises(DeniedError, match="found somebody taking it away; expected the planner"):
            await lift(somebody, pods)
        with pytest.raises(DeniedError, match="taking it away"):
            await somebody.patch(PODS, "planned", merge({"spec": {"schedulingGates": None}}), pods)
        found = msgspec.json.decode(await somebody.get(PODS, "p", pods))
        found["spec"]["schedulingGates"] = [FOREIGN]
        with pytest.raises(DeniedError, match="taking it away"):
            await somebody.replace(PODS, "p", found, pods)


async def test_gates_of_others_are_free(plane: ControlPlane, pods: str) -> None:
    async with Kube(await identity(plane, "somebody", ANYTHING)) as somebody:
        first = json_patch(
            [
                {"op": "test", "path": "/spec/schedulingGates/0", "value": FOREIGN},
                {"op": "remove", "path": "/spec/schedulingGates/0"},
            ]
        )
        found = msgspec.json.decode(await somebody.patch(PODS, "p", first, pods))
        assert found["spec"]["schedulingGates"] == [GATE]


async def test_the_planner_and_who_may_do_everything_lift_it(plane: ControlPlane, admin: Kube, pods: str) -> None:
    async with Kube(plane.access(PLANNER)) as planner:
        assert await lift(planner, pods) == [FOREIGN]
    assert await lift(admin, pods, "planned") == []


async def test_the_right_to_lift_may_be_given_for_one_namespace(plane: ControlPlane, admin: Kube, pods: str) -> None:
    async with Kube(await identity(plane, "helpdesk", ANYTHING)) as helpdesk:
        with pytest.raises(DeniedError):
            await lift(helpdesk, pods)
        group = "rbac.authorization.k8s.io"
        given = {
            "metadata": {"name": "lift"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "numaplace-lift"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "helpdesk"}],
        }
        await admin.create(ROLE_BINDINGS, given, pods)
        async with asyncio.timeout(10):  # the authorizer hears of it a moment later
            while True:
                try:
                    assert await lift(helpdesk, pods) == [FOREIGN]
                    break
                except DeniedError:
                    await asyncio.sleep(0.05)
        await admin.create(PODS, pod("elsewhere"), "default")
        try:
            with pytest.raises(DeniedError):
                await lift(helpdesk, "default", "elsewhere")
        finally:
            await gone(admin, PODS, Key("default", "elsewhere"), grace_s=0)


# --- afterwards


async def resize(kube: Kube, space: str, name: str, **amounts: str) -> dict[str, str]:
    """Ask other amounts of a container that runs."""
    resources = {"limits": amounts, "requests": amounts}
    change = strategic({"spec": {"containers": [{"name": "main", "resources": resources}]}})
    found: dict[str, Any] = msgspec.json.decode(await kube.patch(PODS, name, change, space, subresource="resize"))
    limits: dict[str, str] = found["spec"]["containers"][0]["resources"]["limits"]
    return limits


async def test_cpus_of_its_own_are_not_resized_in_place(plane: ControlPlane, admin: Kube, pods: str) -> None:
    amounts = {"cpu": "2", "memory": "1Gi"}
    for name, annotations in (("owns", OURS), ("shares", {})):
        made = pod(name, annotations)
        made["spec"]["containers"][0]["resources"] = {"limits": amounts, "requests": amounts}
        made["spec"]["schedulingGates"] = [FOREIGN]
        await admin.create(PODS, made, pods)
    async with Kube(await identity(plane, "somebody", ANYTHING)) as somebody:
        with pytest.raises(InvalidError) as refused:
            await resize(somebody, pods, "owns", cpu="3", memory="1Gi")
        assert (
            f"SPEC_INVALID: Pod {pods}/owns: container main: found a resize of cpu; expected none, "
            "since exclusive CPUs cannot be resized in place yet"
        ) in str(refused.value)
        assert await resize(somebody, pods, "owns", cpu="2000m", memory="2Gi") == {"cpu": "2", "memory": "2Gi"}
        assert await resize(somebody, pods, "shares", cpu="3", memory="1Gi") == {"cpu": "3", "memory": "1Gi"}

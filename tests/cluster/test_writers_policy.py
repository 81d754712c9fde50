"""Who may write what on a Pod: tried as every kind of identity that comes near one, by every way to write it."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from numaplace.adapters.kube import Access, DeniedError, Key, Kube, merge, strategic
from numaplace.adapters.kube.resources import NODES, PODS
from numaplace.model import keys
from tests.chart.rendered import SPACE
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import SERVICE_ACCOUNTS, Rule, grant, identity, service_account
from tests.cluster.planner_process import PLANNER
from tests.cluster.stage import gone
from tests.cluster.writers import (
    ANYTHING,
    BINDINGS,
    WAYS,
    by_changing_a_bound_pod,
    by_patch,
    by_removing,
    by_status,
    pod,
)

AGENT = f"system:serviceaccount:{SPACE}:numaplace-agent"


async def writers(plane: ControlPlane, admin: Kube, space: str) -> dict[str, Access]:
    """Everybody but the planner, each with rights enough for every way."""
    await grant(admin, f"system:serviceaccount:{space}:default", ANYTHING)
    return {
        "admin": plane.admin(),
        "somebody": await identity(plane, "somebody", ANYTHING),
        "a service account": await service_account(plane, admin, Key(space, "default")),
        "the planner's name without its namespace": await identity(plane, "numaplace-planner", ANYTHING),
        "the scheduler": plane.access("system:kube-scheduler"),
        "the controllers": plane.access("system:kube-controller-manager"),
    }


@pytest.mark.parametrize("key", [keys.ALLOCATION, keys.OBSERVED])
async def test_nobody_else_writes_what_the_planner_and_the_agent_say(
    plane: ControlPlane, admin: Kube, pods: str, key: str
) -> None:
    before = [await admin.get(PODS, name, pods) for name in ("p", "planned", "free", "bound")]
    for who, access in (await writers(plane, admin, pods)).items():
        async with Kube(access) as kube:
            for way in WAYS + BINDINGS:
                if key == keys.OBSERVED and way is by_removing:
                    continue  # there is nothing to remove
                with pytest.raises(DeniedError) as refused:
                    await way(kube, pods, key)
                if who in ("admin", "somebody", "a service account"):  # the others may lack the right as well
                    assert f"annotation {key}: found a change" in str(refused.value), (who, way.__name__)
    assert [await admin.get(PODS, name, pods) for name in ("p", "planned", "free", "bound")] == before


async def test_the_planner_writes_allocations_and_nothing_that_was_observed(plane: ControlPlane, pods: str) -> None:
    async with Kube(plane.access(PLANNER)) as planner:
        for way in (by_patch, by_status, by_changing_a_bound_pod, by_removing):
            await way(planner, pods, keys.ALLOCATION)
        with pytest.raises(DeniedError, match="only the agent of the Pod's node"):
            await by_patch(planner, pods, keys.OBSERVED)


async def test_the_planners_own_token_is_the_planner(plane: ControlPlane, admin: Kube, pods: str) -> None:
    async with Kube(await service_account(plane, admin, Key(SPACE, "numaplace-planner"))) as planner:
        await by_status(planner, pods, keys.ALLOCATION)


async def test_a_kubelet_writes_its_pods_status_and_no_allocation(plane: ControlPlane, pods: str) -> None:
    async with Kube(plane.access("system:node:n1", "system:nodes")) as kubelet:
        running = merge({"status": {"phase": "Running"}})
        found = msgspec.json.decode(await kubelet.patch(PODS, "bound", running, pods, subresource="status"))
        assert found["status"]["phase"] == "Running"
        for key in (keys.ALLOCATION, keys.OBSERVED):
            forged = merge({"metadata": {"annotations": {key: "{}"}}})
            with pytest.raises(DeniedError, match=f"annotation {key}: found a change"):
                await kubelet.patch(PODS, "bound", forged, pods, subresource="status")


async def test_a_planned_pod_is_free_in_all_other_respects(plane: ControlPlane, pods: str) -> None:
    async with Kube(await identity(plane, "somebody", ANYTHING)) as somebody:
        await somebody.patch(
            PODS, "bound", merge({"metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}}), pods
        )
        ephemeral = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "none"}]}}
        await somebody.patch(PODS, "bound", strategic(ephemeral), pods, subresource="ephemeralcontainers")
        await somebody.delete(PODS, "planned", pods)


# --- what is observed


async def agent_on(plane: ControlPlane, admin: Kube, node: str, *, bound: bool = True) -> Access:
    """The agent's access with the token that its Pod on a node gets; without `bound`, one that belongs to no Pod."""
    if not bound:
        return await service_account(plane, admin, Key(SPACE, "numaplace-agent"))
    body = pod(f"agent-{node}", {}, nodeName=node, serviceAccountName="numaplace-agent")
    made = msgspec.json.decode(await admin.create(PODS, body, SPACE))
    of = {"kind": "Pod", "apiVersion": "v1", "name": f"agent-{node}", "uid": made["metadata"]["uid"]}
    return await service_account(plane, admin, Key(SPACE, "numaplace-agent"), bound_to=of)


@pytest.fixture
async def agents(plane: ControlPlane, admin: Kube) -> AsyncIterator[dict[str, Access]]:
    """Agents of two nodes, and one whose token belongs to no node."""
    await grant(admin, AGENT, (Rule("", ("pods",), ("get", "patch")),))
    await admin.create(SERVICE_ACCOUNTS, {"metadata": {"name": "numaplace-agent"}}, SPACE)
    for node in ("n1", "n2"):
        await admin.create(NODES, {"metadata": {"name": node}})
    yield {
        "n1": await agent_on(plane, admin, "n1"),
        "n2": await agent_on(plane, admin, "n2"),
        "none": await agent_on(plane, admin, "", bound=False),
    }
    for node in ("n1", "n2"):
        await gone(admin, PODS, Key(SPACE, f"agent-{node}"), grace_s=0)
        await gone(admin, NODES, Key("", node))
    await gone(admin, SERVICE_ACCOUNTS, Key(SPACE, "numaplace-agent"))


async def test_only_the_agent_of_its_node_says_what_is_so(pods: str, agents: dict[str, Access]) -> None:
    seen = merge({"metadata": {"annotations": {keys.OBSERVED: '{"v":1}'}}})
    for node in ("n2", "none"):
        async with Kube(agents[node]) as agent:
            with pytest.raises(DeniedError, match="only the agent of the Pod's node says what is so"):
                await agent.patch(PODS, "bound", seen, pods)
    async with Kube(agents["n1"]) as agent:
        found = msgspec.json.decode(await agent.patch(PODS, "bound", seen, pods))
        assert found["metadata"]["annotations"][keys.OBSERVED] == '{"v":1}'
        with pytest.raises(DeniedError, match="only the agent of the Pod's node says what is so"):
            await agent.patch(PODS, "p", seen, pods)  # which is on no node
        with pytest.raises(DeniedError, match="only the planner says what a Pod gets"):
            await by_changing_a_bound_pod(agent, pods, keys.ALLOCATION)

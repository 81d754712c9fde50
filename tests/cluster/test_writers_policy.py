"""Who may write what on a Pod: tried as every kind of identity that comes near one, by every way to write it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from numaplace.adapters.kube import (
    Access,
    DeniedError,
    InvalidError,
    Key,
    Kube,
    Resource,
    apply,
    json_patch,
    merge,
    strategic,
)
from numaplace.adapters.kube.resources import NODES, PODS
from numaplace.model import keys
from tests.chart.rendered import SPACE
from tests.cluster.control_plane import ControlPlane
from tests.cluster.identities import (
    SERVICE_ACCOUNTS,
    Rule,
    grant,
    identity,
    service_account,
)
from tests.cluster.planner_process import PLANNER
from tests.cluster.stage import GATE, gone
from tests.objects import OURS, container, pod_object

LEGACY = Resource("", "v1", "bindings", "Binding")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
AGENT = f"system:serviceaccount:{SPACE}:numaplace-agent"
FOREIGN = {"name": "other.example/first"}
ANYTHING = (  # what no person should be given, and some are
    Rule(
        "",
        ("pods", "pods/status", "pods/ephemeralcontainers", "pods/resize"),
        ("get", "create", "update", "patch", "delete"),
    ),
    Rule("", ("pods/binding", "bindings"), ("create",)),
)
Way = Callable[[Kube, str, str], Awaitable[object]]


async def by_patch(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "p", strategic({"metadata": {"annotations": {key: "{}"}}}), space)


async def by_merge(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "p", merge({"metadata": {"annotations": {key: "{}"}}}), space)


async def by_apply(kube: Kube, space: str, key: str) -> None:
    head = {"apiVersion": "v1", "kind": "Pod"}
    await kube.patch(
        PODS, "p", apply({**head, "metadata": {"name": "p", "annotations": {key: "{}"}}}, manager="m"), space
    )


async def by_replacing(kube: Kube, space: str, key: str) -> None:
    found = msgspec.json.decode(await kube.get(PODS, "p", space))
    found["metadata"]["annotations"][key] = "{}"
    await kube.replace(PODS, "p", found, space)


async def by_status(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "p", merge({"metadata": {"annotations": {key: "{}"}}}), space, subresource="status")


async def by_removing(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "planned", merge({"metadata": {"annotations": {key: None}}}), space)


async def by_changing_a_bound_pod(kube: Kube, space: str, key: str) -> None:
    await kube.patch(PODS, "bound", merge({"metadata": {"annotations": {key: "{}"}}}), space)


def binding(name: str, key: str) -> dict[str, Any]:
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    return {"metadata": {"name": name, "annotations": {key: "{}"}}, "target": target}


async def by_binding(kube: Kube, space: str, key: str) -> None:
    body = {"apiVersion": "v1", "kind": "Binding", **binding("free", key)}
    await kube.create(PODS, body, space, name="free", subresource="binding")


async def by_legacy_binding(kube: Kube, space: str, key: str) -> None:
    await kube.create(LEGACY, binding("free", key), space)


WAYS: list[Way] = [by_patch, by_merge, by_apply, by_replacing, by_status, by_removing, by_changing_a_bound_pod]
BINDINGS: list[Way] = [by_binding, by_legacy_binding]


def pod(name: str, annotations: dict[str, str] = OURS, **spec: Any) -> dict[str, Any]:
    made = pod_object(container(limits={"cpu": "1"}, image="none"), annotations=annotations, name=name, **spec)
    del made["metadata"]["namespace"]
    return made


@pytest.fixture
async def pods(admin: Kube, space: str, plane: ControlPlane) -> AsyncIterator[str]:
    """Pods at our gate, one with an allocation; one that waits for a scheduler that is not there; one on node n1."""
    for body in (
        pod("p", schedulingGates=[FOREIGN]),
        pod("planned"),
        pod("free", {}, schedulerName="nobody"),
        pod("bound", {}, nodeName="n1"),
    ):
        await admin.create(PODS, body, space)
    async with Kube(plane.access(PLANNER)) as planner:
        for name in ("planned", "bound"):
            written = merge({"metadata": {"annotations": {keys.ALLOCATION: '{"v":1}'}}})
            await planner.patch(PODS, name, written, space, subresource="status")
    yield space
    for name in ("p", "planned", "free", "bound"):
        await gone(admin, PODS, Key(space, name), grace_s=0)


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


# --- the gate


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

"""What an API server promises, as our client sees it: run against the fake and against the real one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from numaplace.adapters import kube as k
from numaplace.adapters.kube import resources
from numaplace.adapters.kube.resources import CONFIG_MAPS, PODS, REPORTS
from numaplace.adapters.kube.watch import Change, Event, watch
from numaplace.wire.nodes import ReportObject
from numaplace.wire.pod_object import Metadata, PodObject

DEADLINE_S = 30.0
NOTE = "other.example/note"  # where the chart is installed, only the planner may write our own


class Bare(msgspec.Struct):
    """Any object, by its metadata."""

    metadata: Metadata


def config_map(name: str, **texts: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": texts}


def gated_pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {
            "schedulingGates": [{"name": "numaplace.dev/plan"}, {"name": "other.example/first"}],
            "containers": [{"name": "main", "image": "nothing", "resources": {"requests": {"cpu": "1"}}}],
        },
    }


def free_pod(name: str) -> dict[str, Any]:
    pod = gated_pod(name)
    # No scheduler looks at it, so nothing but the test binds it.
    pod["spec"] = {**pod["spec"], "schedulingGates": [], "schedulerName": "nobody"}
    return pod


def decoded(body: bytes) -> Any:
    return msgspec.json.decode(body)


async def first_batch_with(
    steps: AsyncIterator[list[k.Step[Any]]], wanted: Callable[[k.Step[Any]], bool]
) -> list[k.Step[Any]]:
    """All steps up to the batch that has a wanted one."""
    seen: list[k.Step[Any]] = []
    try:
        async with asyncio.timeout(DEADLINE_S):
            async for batch in steps:
                seen += batch
                if any(map(wanted, batch)):
                    return seen
    except TimeoutError:
        troubles = [str(step.error) for step in seen if isinstance(step, k.Trouble)]
        raise AssertionError(f"{len(seen)} steps in {DEADLINE_S:.0f} s and none that was wanted: {troubles}") from None
    raise AssertionError("the follower ended")


def names(steps: list[k.Step[Any]], kind: type) -> list[str]:
    return [step.key.name for step in steps if isinstance(step, kind)]  # type: ignore[union-attr]


class KubeContract:
    """Each test gets a client and a namespace of its own."""

    # --- one object

    async def test_what_was_created_is_read_back(self, kube: k.Kube, space: str) -> None:
        await kube.create(CONFIG_MAPS, config_map("a", colour="green"), space)
        found = decoded(await kube.get(CONFIG_MAPS, "a", space))
        assert found["data"] == {"colour": "green"}
        assert found["metadata"]["uid"]

    async def test_a_name_is_given_once(self, kube: k.Kube, space: str) -> None:
        await kube.create(CONFIG_MAPS, config_map("a"), space)
        with pytest.raises(k.ConflictError) as caught:
            await kube.create(CONFIG_MAPS, config_map("a"), space)
        assert caught.value.reason == "AlreadyExists"

    async def test_what_is_not_there_is_not_found(self, kube: k.Kube, space: str) -> None:
        with pytest.raises(k.NotFoundError, match="not found"):
            await kube.get(CONFIG_MAPS, "missing", space)

    async def test_a_write_over_an_old_version_is_a_conflict(self, kube: k.Kube, space: str) -> None:
        old = decoded(await kube.create(CONFIG_MAPS, config_map("a", n="1"), space))
        new = decoded(await kube.replace(CONFIG_MAPS, "a", {**old, "data": {"n": "2"}}, space))
        assert new["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]
        with pytest.raises(k.ConflictError, match="modified"):
            await kube.replace(CONFIG_MAPS, "a", {**old, "data": {"n": "3"}}, space)

    async def test_a_delete_spares_another_object_of_the_name(self, kube: k.Kube, space: str) -> None:
        made = decoded(await kube.create(CONFIG_MAPS, config_map("a"), space))
        with pytest.raises(k.ConflictError):
            await kube.delete(CONFIG_MAPS, "a", space, uid="someone-else")
        await kube.delete(CONFIG_MAPS, "a", space, uid=made["metadata"]["uid"])
        with pytest.raises(k.NotFoundError):
            await kube.get(CONFIG_MAPS, "a", space)

    # --- patches

    async def test_a_merge_patch_merges_and_null_deletes(self, kube: k.Kube, space: str) -> None:
        await kube.create(CONFIG_MAPS, config_map("a", keep="1", go="2"), space)
        change = k.merge({"data": {"go": None, "come": "3"}})
        assert decoded(await kube.patch(CONFIG_MAPS, "a", change, space))["data"] == {"keep": "1", "come": "3"}

    async def test_a_json_patch_is_done_only_if_its_tests_hold(self, kube: k.Kube, space: str) -> None:
        await kube.create(CONFIG_MAPS, config_map("a", n="1"), space)

        def raised(before: str, after: str) -> k.Patch:
            test = {"op": "test", "path": "/data/n", "value": before}
            return k.json_patch([test, {"op": "replace", "path": "/data/n", "value": after}])

        await kube.patch(CONFIG_MAPS, "a", raised("1", "2"), space)
        with pytest.raises(k.InvalidError):
            await kube.patch(CONFIG_MAPS, "a", raised("1", "3"), space)
        assert decoded(await kube.get(CONFIG_MAPS, "a", space))["data"] == {"n": "2"}

    async def test_a_strategic_patch_takes_one_gate_and_leaves_the_other(self, kube: k.Kube, space: str) -> None:
        await kube.create(PODS, gated_pod("p"), space)
        change = k.strategic({"spec": {"schedulingGates": [{"$patch": "delete", "name": "numaplace.dev/plan"}]}})
        pod = decoded(await kube.patch(PODS, "p", change, space))
        assert [gate["name"] for gate in pod["spec"]["schedulingGates"]] == ["other.example/first"]

    async def test_no_gate_comes_back(self, kube: k.Kube, space: str) -> None:
        await kube.create(PODS, free_pod("p"), space)
        with pytest.raises(k.InvalidError, match="only deletion is allowed"):
            await kube.patch(PODS, "p", k.strategic({"spec": {"schedulingGates": [{"name": "a.example/b"}]}}), space)

    async def test_applying_creates_then_owns_what_it_names(self, kube: k.Kube, space: str) -> None:
        def intent(**texts: str) -> dict[str, Any]:
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": texts}

        await kube.patch(CONFIG_MAPS, "a", k.apply(intent(x="1", y="1"), manager="one"), space)
        await kube.patch(CONFIG_MAPS, "a", k.apply(intent(z="1"), manager="two"), space)
        changed = await kube.patch(CONFIG_MAPS, "a", k.apply(intent(x="2"), manager="one"), space)
        assert decoded(changed)["data"] == {"x": "2", "z": "1"}

    async def test_applying_over_another_owner_is_a_conflict_unless_forced(self, kube: k.Kube, space: str) -> None:
        def intent(value: str) -> dict[str, Any]:
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": value}}

        await kube.patch(CONFIG_MAPS, "a", k.apply(intent("1"), manager="one"), space)
        with pytest.raises(k.ConflictError, match='conflict with "one"'):
            await kube.patch(CONFIG_MAPS, "a", k.apply(intent("2"), manager="two"), space)
        forced = await kube.patch(CONFIG_MAPS, "a", k.apply(intent("2"), manager="two", force=True), space)
        assert decoded(forced)["data"] == {"x": "2"}

    # --- Pods

    async def test_hint_condition_and_annotation_go_in_one_status_patch(self, kube: k.Kube, space: str) -> None:
        made = decoded(await kube.create(PODS, gated_pod("p"), space))
        condition = {"type": "numaplace.dev/Planned", "status": "True", "reason": "Planned", "message": ""}
        change = {
            "metadata": {"annotations": {NOTE: "{}"}},
            "status": {"nominatedNodeName": "n1", "conditions": [condition]},
        }
        await kube.patch(PODS, "p", k.strategic(change), space, subresource="status")
        pod = msgspec.json.decode(await kube.get(PODS, "p", space), type=PodObject)
        assert pod.status is not None
        assert pod.status.nominated_node_name == "n1"
        assert "numaplace.dev/Planned" in [one.type for one in pod.status.conditions or ()]
        assert pod.metadata.annotations == {NOTE: "{}"}
        assert len(pod.spec.scheduling_gates or ()) == 2
        assert pod.metadata.uid == made["metadata"]["uid"]

    async def test_a_hint_is_not_taken_from_a_write_to_the_pod_itself(self, kube: k.Kube, space: str) -> None:
        await kube.create(PODS, gated_pod("p"), space)
        pod = decoded(await kube.patch(PODS, "p", k.merge({"status": {"nominatedNodeName": "n1"}}), space))
        assert "nominatedNodeName" not in pod["status"]

    async def test_binding_puts_the_pod_on_its_node_with_its_allocation(self, kube: k.Kube, space: str) -> None:
        made = decoded(await kube.create(PODS, free_pod("p"), space))
        hint = k.merge({"status": {"nominatedNodeName": "n1"}})
        await kube.patch(PODS, "p", hint, space, subresource="status")
        allocation = {NOTE: '{"v":1}'}
        for _ in range(2):  # a second time does no harm
            await k.bind(kube, k.Key(space, "p"), uid=made["metadata"]["uid"], node="n1", annotations=allocation)
        pod = decoded(await kube.get(PODS, "p", space))
        assert pod["spec"]["nodeName"] == "n1"
        assert pod["metadata"]["annotations"] == allocation
        assert "nominatedNodeName" not in pod["status"]
        assert {one["type"]: one["status"] for one in pod["status"]["conditions"]}["PodScheduled"] == "True"

    async def test_a_bound_pod_goes_to_no_other_node(self, kube: k.Kube, space: str) -> None:
        uid = decoded(await kube.create(PODS, free_pod("p"), space))["metadata"]["uid"]
        await k.bind(kube, k.Key(space, "p"), uid=uid, node="n1", annotations={})
        with pytest.raises(k.ConflictError, match='already assigned to node "n1"'):
            await k.bind(kube, k.Key(space, "p"), uid=uid, node="n2", annotations={})

    async def test_another_pod_of_the_name_is_not_bound(self, kube: k.Kube, space: str) -> None:
        await kube.create(PODS, free_pod("p"), space)
        with pytest.raises(k.ConflictError, match="UID in precondition"):
            await k.bind(kube, k.Key(space, "p"), uid="someone-else", node="n1", annotations={})

    async def test_a_gated_pod_is_not_bound(self, kube: k.Kube, space: str) -> None:
        uid = decoded(await kube.create(PODS, gated_pod("p"), space))["metadata"]["uid"]
        with pytest.raises(k.ConflictError, match="schedulingGates"):
            await k.bind(kube, k.Key(space, "p"), uid=uid, node="n1", annotations={})

    async def test_eviction_ends_the_pod_it_names_and_no_other(self, kube: k.Kube, space: str) -> None:
        uid = decoded(await kube.create(PODS, free_pod("p"), space))["metadata"]["uid"]
        with pytest.raises(k.ConflictError):
            await k.evict(kube, k.Key(space, "p"), uid="someone-else")
        assert await k.evict(kube, k.Key(space, "p"), uid=uid)
        with pytest.raises(k.NotFoundError):
            await kube.get(PODS, "p", space)
        assert await k.evict(kube, k.Key(space, "p"), uid=uid)

    # --- events and leases

    async def test_an_event_is_there_once_however_often_it_is_posted(self, kube: k.Kube, space: str) -> None:
        uid = decoded(await kube.create(PODS, free_pod("p"), space))["metadata"]["uid"]
        about = k.About(PODS, space, "p", uid)
        for _ in range(2):
            await k.post_event(
                kube,
                about,
                k.Reporter("numaplace.dev/planner", "planner-0"),
                kind=k.EventType.WARNING,
                reason="NumaRefused",
                action="Plan",
                note="ä" * 2000,
                at_s=1_800_000_000.25,
            )
        pages = [page async for page in kube.pages(resources.EVENTS, dict, namespace=space)]
        events = [one for page in pages for one in page.objects if one["reason"] == "NumaRefused"]
        assert len(events) == 1
        assert events[0]["regarding"]["uid"] == uid
        assert len(events[0]["note"].encode()) <= 1024

    async def test_a_lease_goes_from_one_holder_to_the_next_and_to_one_of_two(self, kube: k.Kube, space: str) -> None:
        key = k.Key(space, "planner")
        assert await k.read_lease(kube, key) is None
        mine = k.Lease("one", duration_s=15, acquired_s=1_800_000_000.5, renewed_s=1_800_000_000.5)
        written = await k.write_lease(kube, key, mine)
        assert await k.read_lease(kube, key) == written
        with pytest.raises(k.ConflictError):
            await k.write_lease(kube, key, k.Lease("two", duration_s=15, acquired_s=0.0, renewed_s=0.0))

        theirs = k.Lease("two", 15, 1_800_000_020.0, 1_800_000_020.0, transitions=1, version=written.version)
        taken = await k.write_lease(kube, key, theirs)
        assert (taken.holder, taken.transitions, taken.renewed_s) == ("two", 1, 1_800_000_020.0)
        with pytest.raises(k.ConflictError):
            await k.write_lease(kube, key, written)

    # --- lists and watches

    async def test_a_list_comes_in_pages_of_one_version(self, kube: k.Kube, space: str) -> None:
        for number in range(7):
            await kube.create(CONFIG_MAPS, config_map(f"m{number}"), space)
        pages = [page async for page in kube.pages(CONFIG_MAPS, Bare, namespace=space, page_size=3)]
        listed = [one.metadata.name for page in pages for one in page.objects]
        assert [name for name in listed if name and name.startswith("m")] == [f"m{number}" for number in range(7)]
        assert len(pages) >= 3
        assert len({page.version for page in pages}) == 1

    async def test_a_list_may_be_of_some_labels_only(self, kube: k.Kube, space: str) -> None:
        for name, colour in (("a", "green"), ("b", "red")):
            made = config_map(name)
            made["metadata"]["labels"] = {"colour": colour}
            await kube.create(CONFIG_MAPS, made, space)
        pages = [page async for page in kube.pages(CONFIG_MAPS, Bare, namespace=space, labels="colour=red")]
        assert [one.metadata.name for page in pages for one in page.objects] == ["b"]

    async def test_a_watch_tells_every_change_in_order(self, kube: k.Kube, space: str) -> None:
        made = decoded(await kube.create(CONFIG_MAPS, config_map("a"), space))
        await kube.patch(CONFIG_MAPS, "a", k.merge({"data": {"n": "1"}}), space)
        await kube.delete(CONFIG_MAPS, "a", space)
        await kube.create(CONFIG_MAPS, config_map("last"), space)
        seen: list[Event[Bare]] = []
        async with (
            asyncio.timeout(DEADLINE_S),
            contextlib.aclosing(watch(kube, CONFIG_MAPS, Bare, made["metadata"]["resourceVersion"])) as batches,
        ):
            async for batch in batches:
                seen += [event for event in batch if event.metadata.namespace == space]
                if any(event.metadata.name == "last" for event in seen):
                    break
        assert [(event.change, event.metadata.name) for event in seen] == [
            (Change.MODIFIED, "a"),
            (Change.DELETED, "a"),
            (Change.ADDED, "last"),
        ]

    async def test_a_watch_from_a_forgotten_version_says_so(self, kube: k.Kube, space: str) -> None:
        # What a server remembers begins when a resource is first served, which for reports is not the first version.
        async with contextlib.aclosing(watch(kube, REPORTS, ReportObject, "1")) as batches:
            with pytest.raises(k.ExpiredError, match="too old resource version"):
                await asyncio.wait_for(anext(batches), DEADLINE_S)

    async def test_a_follower_lists_then_tells_changes(self, kube: k.Kube, space: str) -> None:
        await kube.create(CONFIG_MAPS, config_map("before"), space)
        follower = k.Follower(kube, CONFIG_MAPS, Bare, page_size=2)
        async with contextlib.aclosing(follower.steps()) as steps:
            listed = await first_batch_with(steps, lambda step: isinstance(step, k.Synced))
            assert "before" in names(listed, k.Seen)
            await kube.create(CONFIG_MAPS, config_map("after"), space)
            await kube.delete(CONFIG_MAPS, "before", space)
            changes = await first_batch_with(
                steps, lambda step: isinstance(step, k.Gone) and step.key == k.Key(space, "before")
            )
        assert "after" in names(changes, k.Seen)
        assert (follower.lists, follower.watches) == (1, 1)

    async def test_pods_reports_and_nodes_come_as_what_the_planner_reads(self, kube: k.Kube, space: str) -> None:
        await kube.create(PODS, gated_pod("p"), space)
        report = {
            "metadata": {"name": f"{space}-n"},
            "topologyPolicies": [],
            "zones": [],
            "attributes": [{"name": "numaplace.dev/topology", "value": "{}"}],
        }
        await kube.create(REPORTS, report)
        pods = [one async for page in kube.pages(PODS, PodObject, namespace=space) for one in page.objects]
        assert next(one.name for one in pods[0].spec.scheduling_gates or ()) == "numaplace.dev/plan"
        reports = [one async for page in kube.pages(REPORTS, ReportObject) for one in page.objects]
        mine = next(one for one in reports if one.metadata.name == f"{space}-n")
        assert [(one.name, one.value) for one in mine.attributes or ()] == [("numaplace.dev/topology", "{}")]
        await kube.delete(REPORTS, f"{space}-n")

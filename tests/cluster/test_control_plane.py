"""The bench itself: it is real, it lets nobody do more than is written down, and it leaves nothing behind."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from numaplace.adapters.kube import DeniedError, Follower, Gone, Key, Kube, Seen, Synced, load_kubeconfig, strategic
from numaplace.adapters.kube.credentials import Fixed
from numaplace.adapters.kube.resources import CONFIG_MAPS, NODES, PODS, REPORTS
from numaplace.model.ids import NodeName
from numaplace.wire import topology as topology_wire
from numaplace.wire.machine import machine
from numaplace.wire.nodes import NodeObject, ReportObject, node_of
from numaplace.wire.pod import pod_of
from numaplace.wire.pod_object import PodObject
from tests.adapters.kube.contract import Bare, config_map, decoded, first_batch_with, gated_pod, names
from tests.cluster.authority import Authority
from tests.cluster.build import PROGRAMS
from tests.cluster.control_plane import API_SERVER, SCHEDULER, ControlPlane
from tests.cluster.identities import Rule, identity, service_account
from tests.cluster.nodes import alike
from tests.cluster.stage import Stage


async def test_an_identity_may_do_what_is_written_down_and_nothing_else(plane: ControlPlane, space: str) -> None:
    access = await identity(plane, "reader", [Rule("", ("configmaps",), ("get", "list"))])
    async with Kube(access) as reader:
        await reader.get(CONFIG_MAPS, "kube-root-ca.crt", space)
        with pytest.raises(DeniedError, match='User "reader" cannot create resource "configmaps"'):
            await reader.create(CONFIG_MAPS, config_map("a"), space)
        with pytest.raises(DeniedError):
            await reader.get(PODS, "p", space)


async def test_a_kubeconfig_lets_its_user_in(plane: ControlPlane, space: str) -> None:
    await identity(plane, "file-reader", [Rule("", ("configmaps",), ("get",))])
    async with Kube(load_kubeconfig((plane.kubeconfig("file-reader"),))) as reader:
        assert decoded(await reader.get(CONFIG_MAPS, "kube-root-ca.crt", space))["kind"] == "ConfigMap"


async def test_a_service_account_is_who_its_token_says(plane: ControlPlane, admin: Kube, space: str) -> None:
    async with Kube(await service_account(plane, admin, Key(space, "default"))) as account:
        with pytest.raises(DeniedError, match=f'User "system:serviceaccount:{space}:default" cannot get'):
            await account.get(CONFIG_MAPS, "kube-root-ca.crt", space)


async def test_a_certificate_of_another_authority_is_nobody(plane: ControlPlane, space: str) -> None:
    stranger = replace(plane.access("contract"), credentials=Fixed(Authority(plane.folder).client("contract")))
    async with Kube(stranger) as kube:
        with pytest.raises(DeniedError):
            await kube.get(CONFIG_MAPS, "kube-root-ca.crt", space)


async def test_described_machines_stand_as_nodes_with_reports_that_read_back(admin: Kube, stage: Stage) -> None:
    await stage.nodes(alike(3))
    nodes = [node async for page in admin.pages(NODES, NodeObject) for node in page.objects]
    rules = {node.metadata.name: node_of(node, "node") for node in nodes}
    listed = [report async for page in admin.pages(REPORTS, ReportObject) for report in page.objects]
    reports = {report.metadata.name: report for report in listed}
    for name in ("node-0001", "node-0002", "node-0003"):
        offered = rules[name].allocatable
        assert offered is not None
        assert (offered.cpu_milli, offered.others["aliyun.com/gpu"]) == (192_000, 8)
        assert rules[name].taints == ()
        attributes = {one.name: one.value for one in reports[name].attributes or ()}
        assert topology_wire.decode(attributes["numaplace.dev/topology"]).topology == machine("lingjun")


async def test_a_gated_pod_goes_where_it_was_hinted_to_once_its_gate_is_gone(
    kube: Kube, stage: Stage, space: str
) -> None:
    await stage.nodes(alike(3))
    first = gated_pod("first")
    del first["spec"]["schedulingGates"]
    first["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "node-0003"}
    await kube.create(PODS, first, space)
    await stage.until_bound("first")  # so the scheduler knows the nodes: it overlooks a hint to one that it does not
    pod = gated_pod("p")
    pod["spec"]["schedulingGates"] = [{"name": "numaplace.dev/plan"}]
    pod["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "24", "aliyun.com/gpu": "4"}}
    await kube.create(PODS, pod, space)
    hint = strategic({"status": {"nominatedNodeName": "node-0002"}})
    await kube.patch(PODS, "p", hint, space, subresource="status")
    await kube.patch(PODS, "p", strategic({"spec": {"schedulingGates": None}}), space)

    def bound(step: object) -> bool:
        return isinstance(step, Seen) and step.key == Key(space, "p") and bool(step.object.spec.node_name)

    follower = Follower(kube, PODS, PodObject)
    async with contextlib.aclosing(follower.steps()) as steps:
        told = await first_batch_with(steps, bound)
    found = next(step for step in told if bound(step))
    assert isinstance(found, Seen)
    assert pod_of(found.object, "pod").node_name == NodeName("node-0002")


async def test_a_follower_outlives_the_api_server(plane: ControlPlane, kube: Kube, space: str) -> None:
    follower = Follower(kube, CONFIG_MAPS, Bare)
    async with contextlib.aclosing(follower.steps()) as steps:
        await first_batch_with(steps, lambda step: isinstance(step, Synced))
        await kube.create(CONFIG_MAPS, config_map("goes"), space)
        await first_batch_with(steps, lambda step: isinstance(step, Seen) and step.key == Key(space, "goes"))
        plane.kill(API_SERVER)
        await plane.start(API_SERVER)
        await kube.delete(CONFIG_MAPS, "goes", space)
        await kube.create(CONFIG_MAPS, config_map("comes"), space)
        told = await first_batch_with(steps, lambda step: isinstance(step, Seen) and step.key == Key(space, "comes"))
        if "goes" not in names(told, Gone):  # it listed anew, and tells at the end what is there no more
            await first_batch_with(steps, lambda step: isinstance(step, Gone) and step.key == Key(space, "goes"))


async def test_the_scheduler_may_be_away_for_a_while(plane: ControlPlane) -> None:
    plane.kill(SCHEDULER)
    assert plane.programs[SCHEDULER].process is None
    await plane.start(SCHEDULER)
    assert plane.programs[SCHEDULER].ready()


def test_when_it_ends_no_program_and_no_file_of_it_is_left() -> None:
    with ControlPlane() as other:
        pids = [program.running.pid for program in other.programs.values()]
        assert sorted(Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids) == sorted(
            name[:15] for name in PROGRAMS
        )
        assert other.folder.is_dir()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not other.folder.exists()

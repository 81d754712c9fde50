"""The way of a Pod through the planner, against an API server in memory."""

from typing import Any

from numaplace.adapters.kube.fake import Answer
from numaplace.model import keys
from numaplace.services.planner import Limits
from tests.services.planner.reader import allocation_of, double_grants, misplaced, pin_of
from tests.services.planner.world import QUICK, SINGLE, SPACE, gated, nodes_of, world_of


async def test_a_waiting_pod_gets_its_devices_its_node_and_its_way() -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("p", gpus=2, cpus=4))
        world.start()
        await world.until_bound("p")
        pod = world.pod("p")
    allocation = allocation_of(pod)
    assert (pod["spec"]["nodeName"], pin_of(pod), allocation["node"]) == ("n1", "n1", "n1")
    assert allocation["numas"] == [0]
    assert len(allocation["containers"]["main"]["gpus"]) == 2
    assert "schedulingGates" not in pod["spec"]


async def test_a_pod_costs_one_write() -> None:
    async with world_of(nodes_of()) as world:
        world.start()
        world.add(gated("p"))
        await world.until_bound("p")
        await world.quiet()
        assert (world.asked("PATCH"), world.asked("POST")) == (1, 0)


async def test_a_pod_that_had_to_wait_is_hinted_before_it_is_let_go() -> None:
    async with world_of([], scheduling=False) as world:
        world.add(gated("p"))
        world.start()
        await world.until_refused("p")
        world.server.fail(Answer(503), "PATCH", "/pods/p", 1000)
        world.add_nodes(nodes_of())
        await world.until(lambda: world.asked("PATCH", "/p/status") > 1)
        assert world.pod("p")["spec"]["schedulingGates"]
        world.server.faults.clear()
        await world.until(lambda: pin_of(world.pod("p")) == "n1")
        assert world.pod("p")["status"]["nominatedNodeName"] == "n1"


async def test_pods_go_in_the_order_of_priority_then_age() -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("low", gpus=2), gated("high", gpus=2, priority=9), gated("higher", gpus=2, priority=10))
        world.start()
        await world.until_bound("high", "higher")
        await world.until_refused("low")


async def test_a_pod_waits_for_gates_of_others() -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("p", gates=("kueue.x-k8s.io/admission", keys.PLAN_GATE)), gated("q"))
        world.start()
        await world.until_bound("q")
        assert not allocation_of(world.pod("p"))

        def lift(pod: dict[str, Any]) -> None:
            pod["spec"]["schedulingGates"] = [{"name": keys.PLAN_GATE}]

        world.change("p", lift)
        await world.until_bound("p")


async def test_a_pod_that_asks_nothing_of_ours_is_let_go_as_it_is() -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("plain", gpus=0, annotations={}))
        world.start()
        await world.until(lambda: "schedulingGates" not in world.pod("plain")["spec"])
        assert not pin_of(world.pod("plain"))
        assert not allocation_of(world.pod("plain"))


async def test_a_pod_keeps_its_own_affinity_beside_the_pin() -> None:
    terms: list[dict[str, Any]] = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}, {}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    nodes = nodes_of(2)
    async with world_of(nodes) as world:
        world.change_node("n2", lambda node: node["metadata"]["labels"].update(zone="a"))
        world.add(gated("p", affinity={"nodeAffinity": required}))
        world.start()
        await world.until_bound("p")
        pod = world.pod("p")
    pin = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    found = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert found == {"nodeSelectorTerms": [{**terms[0], **pin}, {}]}


async def test_a_pod_whose_affinity_can_match_nothing_is_refused_before_a_plan() -> None:
    required: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
    async with world_of(nodes_of()) as world:
        world.add(gated("p", affinity={"nodeAffinity": required}))
        world.start()
        await world.until_refused("p", code="NODE_RULE")
        assert "empty and matches no node" in world.refusal("p")


async def test_many_pods_share_nodes_and_nothing_is_given_twice() -> None:
    async with world_of(nodes_of(3)) as world:
        world.add(*(gated(f"p{i}") for i in range(14)))
        world.start(QUICK)
        await world.until(lambda: sum(1 for pod in world.pods if pod["spec"].get("nodeName")) == 12)
        assert double_grants(world.pods) == []
        assert misplaced(world.pods) == []


async def test_a_plan_leaves_the_room_that_pods_without_plans_use() -> None:
    async with world_of(nodes_of()) as world:
        world.add(gated("plain", gpus=0, cpus=15, annotations={}, gates=(), schedulerName="other"))
        world.bind("plain", "n1")
        world.add(gated("p", gpus=1, cpus=4))
        world.start()
        await world.until_refused("p", code="CPUS_SHORT")


async def test_plans_on_their_way_are_few_at_a_time() -> None:
    async with world_of(nodes_of(2), scheduling=False) as world:
        world.add(*(gated(f"p{i}") for i in range(6)))
        world.start(limits := Limits(outstanding=2, tick_s=0.02))
        await world.until(lambda: sum(1 for pod in world.pods if not pod["spec"].get("schedulingGates")) == 2)
        await world.quiet()
        assert sum(1 for pod in world.pods if allocation_of(pod)) == limits.outstanding
        world.scheduling = True
        world.server.store.wake()
        await world.until_bound(*(f"p{i}" for i in range(6)))


async def test_only_the_planned_pods_uid_is_meant() -> None:
    async with world_of(nodes_of(), scheduling=False) as world:
        world.add(gated("p", annotations={**SINGLE, "generation": "1"}))
        world.start()
        await world.until(lambda: bool(allocation_of(world.pod("p"))))
        world.remove("p")
        world.add(gated("p", gpus=2))
        world.scheduling = True
        await world.until_bound("p")
        assert len(allocation_of(world.pod("p"))["containers"]["main"]["gpus"]) == 2
        assert world.pod("p")["metadata"]["namespace"] == SPACE

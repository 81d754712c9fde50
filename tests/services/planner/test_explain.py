"""The page /explain: one Pod, how far it is and why, in the words of its condition."""

import aiohttp

from numaplace.services.planner import Address
from tests.services.planner.asking import door
from tests.services.planner.world import World, gated, nodes_of, world_of


async def page(address: Address, path: str) -> tuple[int, object]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{address.host}:{address.port}{path}") as answer,
    ):
        return answer.status, await answer.json() if answer.content_type == "application/json" else await answer.text()


def somewhere() -> Address:
    free = door()
    return Address(free.host, free.port)


async def started(world: World) -> Address:
    address = somewhere()
    world.start(address=address)
    return address


async def test_a_pod_that_waits_says_what_its_condition_says() -> None:
    async with world_of(nodes_of()) as world:
        address = await started(world)
        world.add(gated("p", gpus=5))
        await world.until_refused("p")
        status, found = await page(address, "/explain?pod=ns/p")
        assert isinstance(found, dict)
        refusal = found.pop("refusal")
        assert f"{refusal['code']}: {refusal['sentence']}" == world.refusal("p")
        uid = world.pod("p")["metadata"]["uid"]
        assert (status, found) == (200, {"pod": "ns/p", "uid": uid, "stage": "waits", "node": None, "holds": None})


async def test_a_pod_that_asks_what_nobody_can_give_says_so() -> None:
    async with world_of(nodes_of()) as world:
        address = await started(world)
        world.add(gated("p", annotations={"cpuset-scheduler": "yes"}))
        await world.until_refused("p")
        _, found = await page(address, "/explain?pod=ns/p")
        assert isinstance(found, dict)
        assert found["refusal"]["code"] == "SPEC_INVALID"


async def test_a_pod_with_a_place_says_what_it_has() -> None:
    async with world_of(nodes_of()) as world:
        address = await started(world)
        world.add(gated("p", gpus=2, cpus=4))
        await world.until_bound("p")
        _, found = await page(address, "/explain?pod=ns/p")
        assert isinstance(found, dict)
        assert (found["node"], found["holds"]["numas"], found["holds"]["cpus"]) == ("n1", [0], "0-1,8-9")
        assert found["refusal"] is None


async def test_a_pod_that_is_not_there_is_told_by_name() -> None:
    async with world_of(nodes_of()) as world:
        address = await started(world)
        world.add(gated("p"))
        await world.until_bound("p")
        status, found = await page(address, "/explain?pod=p")
        assert (status, found) == (404, "?pod=p: found no such Pod; expected NAMESPACE/NAME\n")

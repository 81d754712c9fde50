"""Claims that wait for their Pod's node, while it is on its way there: the promise outlasts what becomes of them."""

from dataclasses import replace

import pytest

from numaplace.decide.place import Placement
from numaplace.model import keys
from numaplace.model.catalog import Claim, Entry, StorageClass, Volume
from numaplace.model.ids import NodeName, PodUid
from numaplace.model.live_pod import LivePod
from numaplace.model.request import PodRequest
from numaplace.model.rules import NodeTerm, Operator, Requirement
from numaplace.services.planner.keeper import Keeper
from numaplace.services.planner.news import Waits
from tests.objects import OURS, admitted, container
from tests.properties.pods import renamed
from tests.services.planner.test_keeper import CLUSTER, keeper_told

UID = PodUid("new")
WAITING = Claim("ns", "data", storage_class="late")
GATES = {"gated": (keys.PLAN_GATE,), "on its way": ()}


def volume_on(node: str) -> Volume:
    return Volume("v", (NodeTerm(fields=(Requirement("metadata.name", Operator.IN, (node,)),)),))


def keeper_with(gates: tuple[str, ...]) -> Keeper:
    """A Pod with a claim that waits for its node, promised a place on n2."""
    keeper = keeper_told(CLUSTER, len(CLUSTER))
    asks = renamed(admitted(container(limits={"cpu": 1, "aliyun.com/gpu": 1}), annotations=OURS), UID)
    asks = replace(asks, namespace="ns", rules=replace(asks.rules, claims=("data",)))
    for entry in (StorageClass("late", waits=True), WAITING):
        keeper.see_entry(entry)
    keeper.see_pod(LivePod(UID, "ns", "new", asks, asked=True, gates=gates))
    placement = keeper.refresh().best(request_of(keeper), closed=[NodeName("n1")])
    assert isinstance(placement, Placement)
    assert keeper.hold(request_of(keeper), placement.allocation) is None
    keeper.news()
    return keeper


def request_of(keeper: Keeper) -> PodRequest:
    asks = keeper.pods[UID].asks
    assert isinstance(asks, PodRequest)
    return asks


def waits(keeper: Keeper) -> bool:
    """Whether the Pod has to be planned again."""
    return any(isinstance(news, Waits) and news.pod.uid == UID for news in keeper.news())


@pytest.mark.parametrize("gates", GATES.values(), ids=GATES)
@pytest.mark.parametrize(
    "told",
    [
        (replace(WAITING, node="n2"),),
        (replace(WAITING, node="n2"), volume_on("n2"), replace(WAITING, node="n2", volume="v", bound=True)),
        (replace(WAITING, node="n2"), replace(WAITING, node="n2", volume="v", bound=True), volume_on("n2")),
        (replace(WAITING, volume="v", bound=True), Volume("v")),
    ],
    ids=["its node is chosen", "its volume is made", "the claim is told before its volume", "a volume for all nodes"],
)
def test_a_promise_is_kept_while_its_claim_comes_to_something_on_its_node(
    told: tuple[Entry, ...], gates: tuple[str, ...]
) -> None:
    keeper = keeper_with(gates)
    promised = keeper.promised(UID)
    for entry in told:
        keeper.see_entry(entry)
        assert keeper.promised(UID) == promised
        holder = keeper.holder(UID)
        assert holder is not None
        assert holder.request == keeper.pods[UID].asks
        assert keeper.keeps_rules(UID)
    assert not waits(keeper)


@pytest.mark.parametrize("gates", GATES.values(), ids=GATES)
@pytest.mark.parametrize(
    "told",
    [
        (replace(WAITING, node="n1"),),
        (replace(WAITING, volume="v", bound=True), volume_on("n1")),
        (replace(WAITING, volume="v", bound=True), replace(WAITING, volume="v", lost=True)),
    ],
    ids=["another node is chosen", "its volume is elsewhere", "its volume is lost"],
)
def test_a_promise_ends_when_its_claim_cannot_be_had_there(told: tuple[Entry, ...], gates: tuple[str, ...]) -> None:
    keeper = keeper_with(gates)
    for entry in told:
        keeper.see_entry(entry)
    assert keeper.promised(UID) is None
    assert waits(keeper)


def test_a_claim_that_goes_before_its_volume_is_told_of_is_gone() -> None:
    keeper = keeper_with(())
    keeper.see_entry(replace(WAITING, volume="v", bound=True))
    keeper.lose_entry(WAITING)
    keeper.see_entry(volume_on("n2"))
    volumes = request_of(keeper).rules.volumes
    assert volumes is not None
    assert volumes.problem == "claim data does not exist"

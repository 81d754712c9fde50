"""Which Pods are read anew when a claim changes: those that use it now, and nobody who does no more."""

from dataclasses import replace

from numaplace.model.catalog import Claim
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.lookups import Lookups
from tests.objects import OURS, admitted, container
from tests.properties.pods import renamed


def using(*claims: str, name: str = "p") -> LivePod:
    asks = renamed(admitted(container(limits={"cpu": 1}), annotations=OURS, namespace="ns"), name)
    return _live(replace(asks, rules=replace(asks.rules, claims=claims)))


def _live(asks: PodRequest) -> LivePod:
    return LivePod(asks.uid, asks.namespace, asks.name, asks)


def readers(lookups: Lookups, claim: str) -> frozenset[str]:
    return lookups.see(Claim("ns", claim))


def test_a_pod_is_read_anew_for_the_claims_that_it_uses_now() -> None:
    lookups = Lookups()
    lookups.read(using("data", "logs"))
    lookups.read(using("data", name="other"))
    assert readers(lookups, "data") == {"p", "other"}
    lookups.read(using("logs"))
    assert readers(lookups, "data") == {"other"}
    assert readers(lookups, "logs") == {"p"}


def test_a_pod_that_asks_what_nobody_can_give_uses_no_claim_and_neither_does_one_that_is_gone() -> None:
    lookups, pod = Lookups(), using("data")
    lookups.read(pod)
    lookups.read(replace(pod, asks=Refusal(Code.SPEC_INVALID, "half a card")))
    assert readers(lookups, "data") == frozenset()
    lookups.read(pod)
    lookups.forget(pod.uid)
    assert readers(lookups, "data") == frozenset()
